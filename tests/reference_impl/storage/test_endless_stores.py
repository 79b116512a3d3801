"""Servers on loopback that never come to an end, or send their clients elsewhere."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from obstore.store import HTTPStore, MemoryStore, S3Store

from conformance.audit import AuditError, audit
from reference_impl import Limits, Table, read_table
from reference_impl.errors import LimitExceeded
from reference_impl.limits import within_limits
from reference_impl.storage import Storage, open_storage
from reference_impl.storage.object_store import NOWHERE, client_options

LOG = "_delta_log"
FILE = (
    "<Contents><Key>{}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
    '<ETag>"e"</ETag><Size>1</Size></Contents>'
)
PAGE = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>'
    "{}</ListBucketResult>"
)
MORE = "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>"
Answer = Callable[[BaseHTTPRequestHandler], tuple[int, dict[str, str], bytes]]


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """Serve on loopback; yields the port, and the headers of every request so far."""
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(dict(self.headers))
            status, headers, body = answer(self)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815  names of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True  # a client keeps its connections
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1], asked
        finally:
            server.shutdown()


def endless(files: int, pages: int | None = None) -> Answer:
    """Answer with pages of a listing, so many files on each, for ever or up to a page."""
    count = itertools.count()

    def answer(_: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        page = next(count)
        keys = (f"t/{LOG}/{page * files + each:020}.json" for each in range(files))
        more = MORE.format(page) if pages is None or page < pages - 1 else ""
        text = PAGE.format(more + "".join(map(FILE.format, keys)))
        return 200, {"Content-Type": "application/xml"}, text.encode()

    return answer


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], str]:
    """Return a function from a port to a table of the server there."""
    monkeypatch.setattr("reference_impl.storage.listing._MAX_SECONDS", 1.0, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    settings = {
        "ALLOW_HTTP": "true",
        "ACCESS_KEY_ID": "loopback",
        "SECRET_ACCESS_KEY": "only",
        "SESSION_TOKEN": "a secret",
        "REGION": "us-east-1",
        "VIRTUAL_HOSTED_STYLE_REQUEST": "false",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)

    def bound(port: int) -> str:
        monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{port}")
        return "s3://b/t"

    return bound


LISTINGS: dict[str, Callable[[Storage], Any]] = {
    "all": lambda storage: storage.list_from(LOG),
    "after a name": lambda storage: storage.list_from(LOG, "0"),
    "a walk": lambda storage: sum(1 for _ in storage.walk()),
}


@pytest.mark.parametrize("files", [0, 1000])
@pytest.mark.parametrize("ask", LISTINGS.values(), ids=LISTINGS)
def test_a_listing_without_end_meets_a_limit(
    ask: Callable[[Storage], Any], files: int, store: Callable[[int], str]
) -> None:
    limits = Limits(listing=20_000, listing_seconds=2.0)
    with serving(endless(files)) as (port, asked):
        storage = open_storage(store(port))
        with within_limits(limits, "list"), pytest.raises(LimitExceeded) as caught:
            ask(storage)
        assert caught.value.limit == ("listing" if files else "listing_seconds")
        after = len(asked)
        time.sleep(0.3)
        assert len(asked) <= after + 1  # the listing stops


def test_a_listing_that_is_slow_as_a_whole_is_taken_in_parts(
    monkeypatch: pytest.MonkeyPatch, store: Callable[[int], str]
) -> None:
    with serving(endless(1000, pages=1)) as (port, _):
        storage = open_storage(store(port))
        monkeypatch.setattr("reference_impl.storage.listing._MAX_SECONDS", 0.0, raising=False)
        monkeypatch.setattr("reference_impl.storage.listing._AT_ONCE", 7, raising=False)
        assert len(storage.list_from(LOG)) == 1000


def test_a_store_is_listed_from_within_a_loop(store: Callable[[int], str]) -> None:
    async def ask(storage: Storage) -> int:
        return len(storage.list_from(LOG))

    with serving(endless(1000, pages=3)) as (port, _):
        assert asyncio.run(ask(open_storage(store(port)))) == 3000


@pytest.mark.parametrize("ask", [read_table, lambda root, **o: Table(root, **o).vacuum()])
def test_an_operation_on_a_store_without_end_says_which_limit(
    ask: Callable[..., Any], store: Callable[[int], str]
) -> None:
    limits = Limits(listing_seconds=2.0)
    with serving(_log_of(endless(0))) as (port, _):
        location = store(port)
        with pytest.raises(LimitExceeded, match="listing_seconds"):
            ask(location, limits=limits)


def test_an_audit_of_a_store_without_end_says_which_limit(store: Callable[[int], str]) -> None:
    with serving(_log_of(endless(0))) as (port, _):
        location = store(port)
        with pytest.raises(AuditError, match="listing_seconds"):
            audit(location, limits=Limits(listing_seconds=2.0))


def _log_of(pages: Answer) -> Answer:
    """Answer listings, and say of every file that it is not there."""
    return lambda request: pages(request) if "list-type" in request.path else (404, {}, b"")


@pytest.mark.parametrize("method", ["get", "head", "list_from", "open_input"])
def test_a_redirect_to_another_host_is_not_followed(
    method: str, store: Callable[[int], str]
) -> None:
    """Else a store had its clients ask whom it likes, and got the session token sent there."""

    def elsewhere(_: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return 200, {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT", "ETag": '"e"'}, b"secret"

    with serving(elsewhere) as (other, asked):
        target = {"Location": f"http://localhost:{other}/inner"}
        with serving(lambda _: (302, target, b"")) as (port, _):
            storage = open_storage(store(port))
            with pytest.raises(OSError, match="HTTP error"):
                getattr(storage, method)("x")
        assert asked == []


def test_where_a_client_is_kept_to_its_host(
    monkeypatch: pytest.MonkeyPatch, store: Callable[[int], str]
) -> None:
    store(1)
    monkeypatch.setenv("AWS_TIMEOUT", "7s")
    own = {"proxy_url": NOWHERE, "proxy_excludes": "127.0.0.1"}
    assert client_options(S3Store("b")) == {"allow_http": "true", "timeout": "7s", **own}
    web = HTTPStore.from_url("https://user@files.example:8443/t")
    assert client_options(web) == {"proxy_url": NOWHERE, "proxy_excludes": "files.example"}
    six = HTTPStore.from_url("https://[::1]:8443/t")
    assert client_options(six) == {"proxy_url": NOWHERE, "proxy_excludes": "::1"}
    assert client_options(MemoryStore()) is None
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    assert client_options(web) is None  # it is asked by way of a proxy
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    assert client_options(S3Store("b")) is None  # credentials come from another host
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert client_options(S3Store("b")) is not None
    monkeypatch.delenv("AWS_ENDPOINT")
    assert client_options(S3Store("b")) is None  # hosts of a cloud are many
