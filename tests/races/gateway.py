"""Run the races on a real S3 server: versitygw, on loopback, started and stopped here.

The server is a program in Go. It is taken from ``DELTA_TCK_VERSITYGW`` or from the path, or else
built by ``go install``, which takes some minutes the first time. Where none of that works the run
fails and says so: races that did not run are no races that were won.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUCKET = "races"
HERE = Path(__file__).parent
STARTING = 30
"""Seconds that the server has to answer."""


class GatewayError(Exception):
    """There is no server to race on."""


def find() -> str:
    """Return the server's program, built if need be.

    Raises:
        GatewayError: it is not there and cannot be built.
    """
    named = os.environ.get("DELTA_TCK_VERSITYGW") or shutil.which("versitygw")
    if named:
        return named
    folder = Path(sys.prefix) / "gobin"
    program = folder / "versitygw"
    if program.exists():
        return str(program)
    go = shutil.which("go")
    if go is None:
        raise GatewayError("there is neither versitygw nor Go to build it")
    environment = {**os.environ, "GOBIN": str(folder)}
    built = subprocess.run(  # noqa: S603  a fixed module of a fixed version
        [go, "install", MODULE], env=environment, capture_output=True, text=True, check=False
    )
    if built.returncode != 0 or not program.exists():
        raise GatewayError(f"go install {MODULE} failed: {built.stderr[-500:]}")
    return str(program)


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def start(program: str, folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the server over a folder, and wait until it answers.

    Raises:
        GatewayError: it ends, or does not answer in time.
    """
    (folder / BUCKET).mkdir()
    environment = {**os.environ, "ROOT_ACCESS_KEY": "races", "ROOT_SECRET_KEY": "loopback-only"}
    # Metadata beside the objects: not every file system has the attributes for them.
    meta = folder.parent / "metadata"
    meta.mkdir()
    address = f"127.0.0.1:{port}"
    command = [program, "--port", address, "posix", "--sidecar", str(meta), str(folder)]
    with (folder.parent / "gateway.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: S603  the program that was found
    until = time.monotonic() + STARTING
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
        except urllib.error.HTTPError:
            return server  # it refuses who does not sign, and so it is up
        except OSError:
            time.sleep(0.1)
        else:
            return server
    server.kill()
    tail = (folder.parent / "gateway.log").read_text()[-500:]
    raise GatewayError(f"versitygw does not answer: {tail}")


def main(arguments: list[str]) -> int:
    """Start the server, run the races on it, stop it; gives the exit status of the races."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "buckets"
        folder.mkdir()
        try:
            port = free_port()
            server = start(find(), folder, port)
        except GatewayError as error:
            sys.stderr.write(f"no S3 server, so that nothing was raced: {error}\n")
            return 1
        environment = {
            **os.environ,
            "AWS_ENDPOINT": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "races",
            "AWS_SECRET_ACCESS_KEY": "loopback-only",
            "AWS_REGION": "us-east-1",
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
            "DELTA_TCK_RACE_URL": f"s3://{BUCKET}",
        }
        checks = [str(HERE), "-m", "races or s3"]
        try:
            return subprocess.run(  # noqa: S603  our own interpreter on our own tests
                [sys.executable, "-m", "pytest", *checks, *arguments],
                env=environment,
                check=False,
            ).returncode
        finally:
            server.terminate()
            server.wait(STARTING)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
