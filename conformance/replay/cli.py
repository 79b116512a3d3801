"""The command ``delta-tck replay``: judge an implementation by a bundle once more.

See ``docs/formats.md``, "Bundles".
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from conformance.base.commands import NOT_ALONE
from conformance.base.faults import KitError
from conformance.base.options import LIMITS, add_options, runs_here, value_of
from conformance.base.outcomes import JUDGED, Outcome, Verdict
from conformance.base.status import Status, status_of_error
from conformance.base.terminal import say, warn
from conformance.items.generated import ReadHistory
from conformance.items.recipes import WrittenHistory
from conformance.judging.claims import validated
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.replay.bundle import read_bundle
from conformance.workers.lifetime import can_supervise, supervised
from conformance.workers.resolve import Limits, alarm_of, described, resolve
from generators.file_digests import digest_of
from generators.materialise.layouts import lay_out


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck replay", description="Judge an implementation by a bundle once more."
    )
    parser.add_argument("bundle", type=Path, help="folder of a failure on a drawn history")
    parser.add_argument("--impl", required=True, help="as for a run")
    add_options(parser, *LIMITS, "--tck-isolation")
    return parser


def run_replay_cli(arguments: Sequence[str]) -> int:
    """Replay a bundle; returns 0 when it passes, and otherwise the status of a run.

    Raises:
        KitError: the bundle or the implementation is not available.
    """
    options = _parser().parse_args(list(arguments))
    if runs_here(options.impl, value_of(options, "--tck-isolation")) and can_supervise():
        return supervised(lambda: _status(options))
    return _replay(options)


def _status(options: argparse.Namespace) -> int:
    """Replay, and say what went wrong; a child process passes on no error."""
    try:
        return _replay(options)
    except KitError as error:
        warn(f"delta-tck: {error}")
        return status_of_error(error)


def _replay(options: argparse.Namespace) -> int:
    limits = Limits.of(partial(value_of, options))
    description, about = read_bundle(options.bundle)
    adapter = resolve(options.impl, limits, value_of(options, "--tck-isolation"))
    store = TableStore()
    try:
        claims = validated(described(adapter, limits)).claims
        note = _note(about, description.get("table_sha256"))
        limit = alarm_of(adapter, limits.request)
        with limit.about(str(options.bundle)):
            verdict = about.judge(Judge(adapter, claims, store, limit))
    except KitError:
        raise
    except Exception as error:  # noqa: BLE001  as in a run, a fault of the kit is no verdict
        details = tuple(traceback.format_exception(error))
        verdict, note = Verdict(Outcome.ERROR, f"kit fault: {error}", details=details), None
    finally:
        store.close()
        adapter.close()
    for line in _printed(description, verdict, note):
        say(line)
    if verdict.outcome in _STATUSES:
        return _STATUSES[verdict.outcome]
    return Status.OK if verdict.outcome in JUDGED else Status.NOTHING_JUDGED


_STATUSES = {Outcome.FAIL: Status.NONCONFORMANT, Outcome.ERROR: Status.ERRORS}


def _note(about: ReadHistory | WrittenHistory, digest: str | None) -> str | None:
    """Return a note where this kit lays the history out otherwise than the kit of the bundle."""
    if digest is None or not isinstance(about, ReadHistory):
        return None
    with tempfile.TemporaryDirectory(prefix="delta-tck-") as folder:
        lay_out(Path(folder, "table"), about.drawn.load(), about.layout)
        same = digest_of(Path(folder, "table")) == digest
    return None if same else "this kit lays the history out otherwise than the bundle's table"


def _printed(description: dict[str, object], verdict: Verdict, note: str | None) -> list[str]:
    lines = [f"{description['case']}: {verdict.outcome.value}"]
    if verdict.hazard or verdict.requirement:
        lines.append(f"  {verdict.hazard or ''} {verdict.requirement or ''}".rstrip())
    parts = {
        "message": verdict.message,
        "expected": verdict.expected,
        "actual": verdict.actual,
        "note": note,
    }
    lines += [f"  {name + ':':<9} {text}" for name, text in parts.items() if text]
    return [*lines, *(f"    {line}" for line in verdict.details)]


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
