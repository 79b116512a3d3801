"""The histories that every gate judges by: files of the package, read and never drawn.

See ``docs/formats.md``, "Histories". ``python -m generators histories`` writes the files.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from generators.histories.document import HistoryError, document_of, read_history, text_of
from generators.histories.groups import Drawn
from generators.oracle.operations import History
from schemas import errors

FOLDER: Final = Path(__file__).parent / "gate"
"""Where the files are."""

MANIFEST: Final = "manifest.json"
"""Lists the files, in the order of their cases."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _manifest(folder: Path) -> list[dict[str, Any]]:
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HistoryError(f"{path}: {error}") from error
    violations = errors("kit/histories", document)
    if violations:
        raise HistoryError(f"{path}: {violations[0].path}: {violations[0].message}")
    entries: list[dict[str, Any]] = document["histories"]
    return entries


def _read(folder: Path, entry: dict[str, Any]) -> History:
    path = folder / f"{entry['name']}.json"
    try:
        text = path.read_text(encoding="utf-8")
        history = read_history(text)
    except (OSError, ValueError) as error:
        raise HistoryError(f"{path}: {error}") from error
    if _digest(text) != entry["sha256"]:
        raise HistoryError(f"{path}: the digest is not the one of the manifest")
    return history


@cache
def gate_histories(folder: Path = FOLDER) -> tuple[Drawn, ...]:
    """List the histories of the gate; each is read when it is first asked for.

    Raises:
        HistoryError: a file is missing, damaged or not the one of the manifest; of a history
            itself when it is read.
    """
    return tuple(
        Drawn(
            entry["name"],
            entry["kind"],
            tuple(entry["features"]),
            cache(partial(_read, folder, entry)),
        )
        for entry in _manifest(folder)
    )


def write_gate(drawn: tuple[Drawn, ...], folder: Path) -> None:
    """Write files of the histories, and a manifest of them; removes files of no history."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {each.name: text_of(document_of(each.load())) for each in drawn}
    for stale in folder.glob("*.json"):
        stale.unlink()
    lines = []
    for each in drawn:
        text = texts[each.name]
        (folder / f"{each.name}.json").write_text(text, encoding="utf-8")
        entry = {
            "name": each.name,
            "kind": each.kind,
            "features": list(each.features),
            "sha256": _digest(text),
        }
        lines.append(json.dumps(entry))
    listed = ",\n".join(lines)
    text = f'{{"format": 1, "histories": [\n{listed}\n]}}\n'
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def check_gate(folder: Path = FOLDER) -> list[str]:
    """Return what is wrong with the files: unlisted, unreadable, changed, or not canonical."""
    try:
        listed = gate_histories.__wrapped__(folder)
    except HistoryError as error:
        return [str(error)]
    wrong = []
    for each in listed:
        path = folder / f"{each.name}.json"
        try:
            if text_of(document_of(each.load())) != path.read_text(encoding="utf-8"):
                wrong.append(f"{path}: not canonical")
        except HistoryError as error:
            wrong.append(str(error))
    names = {MANIFEST, *(f"{each.name}.json" for each in listed)}
    unlisted = sorted(path for path in folder.iterdir() if path.name not in names)
    return [*wrong, *(f"{path}: not in the manifest" for path in unlisted)]
