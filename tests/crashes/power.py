"""Pull the plug: what a disk may hold when the power goes, by what was flushed before.

The bytes of a file stay once the file is flushed, and a name once its folder is. Of what was not
flushed nothing may be left, or all of it, or any part: each name on its own.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from injecting import Trial
from judging import content
from scenarios import ALL, opened

from reference_impl import Table

FOLDER: Final = -1
"""Stands for a folder where files have numbers."""

State = dict[str, bytes | None]
"""Paths to the bytes of files; folders have none."""


@dataclass(slots=True)
class Disk:
    """What an operation asked of the disk, in order.

    Attributes:
        root: the table.
        names: what had a name before: paths to numbers of files.
        flushed: bytes of files before, by number.
        events: changes of names, each a group that takes effect at once; files and folders that
            were flushed.
    """

    root: Path
    names: dict[str, int] = field(default_factory=dict)
    flushed: dict[int, bytes] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)
    _live: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Take what is there for flushed."""
        for path in self.root.rglob("*"):
            number = FOLDER if path.is_dir() else len(self.flushed)
            self.names[self._name(path)] = number
            if number != FOLDER:
                self.flushed[number] = path.read_bytes()
        self._live = dict(self.names)

    def _name(self, path: Any) -> str:
        return Path(os.fspath(path)).relative_to(self.root).as_posix()

    def mine(self, path: Any) -> bool:
        """Say whether a path lies below the root."""
        return isinstance(path, str | os.PathLike) and Path(path).is_relative_to(self.root)

    def change(self, *changes: tuple[Any, Any]) -> None:
        """Note that paths got what another path had: a number, or nothing with ``None``."""
        with self._lock:
            group = []
            for path, source in changes:
                number = self._live[self._name(source)] if self.mine(source) else source
                group.append((self._name(path), number))
            for name, number in group:
                self._live[name] = number
            self.events.append(("names", group))

    def make(self, path: Any) -> None:
        """Note a new file."""
        self.change((path, 1_000_000 + len(self.events)))

    def flush(self, descriptor: int) -> None:
        """Note what was flushed, with what it held."""
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if not self.mine(path):
            return
        with self._lock:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                self.events.append(("folder", self._name(path)))
            else:
                held = path.read_bytes()
                self.events.append(("file", (self._live[self._name(path)], held)))

    def after(self, count: int, lives: Callable[[int], bool]) -> State:
        """Give what is left of the first events where ``lives`` says which names stay."""
        names, flushed = dict(self.names), dict(self.flushed)
        pending: list[tuple[int, list[tuple[str, int | None]]]] = []

        def flush(group: list[tuple[str, int | None]]) -> None:
            for name, number in group:
                names.pop(name, None)
                if number is not None:
                    names[name] = number

        for at, (what, subject) in enumerate(self.events[:count]):
            if what == "names":
                pending.append((at, subject))
            elif what == "file":
                flushed[subject[0]] = subject[1]
            else:
                for _, group in (each for each in pending if _folder(each[1]) == subject):
                    flush(group)
                pending = [each for each in pending if _folder(each[1]) != subject]
        for at, group in pending:
            if lives(at):
                flush(group)
        return {
            name: None if number == FOLDER else flushed.get(number, b"")
            for name, number in sorted(names.items())
            if all(names.get(str(above)) == FOLDER for above in list(Path(name).parents)[:-1])
        }

    def cuts(self) -> Iterator[tuple[State, int, str]]:
        """Give every state that a cut may leave once, with how many events were before it."""
        known: list[State] = []
        for count in range(len(self.events) + 1):
            random = Random(count)  # noqa: S311  a plan, not a secret
            ways: dict[str, Callable[[int], bool]] = {
                "nothing": lambda _: False,
                "everything": lambda _: True,
                "a part": lambda _, draw=random: draw.random() < 0.5,  # type: ignore[misc]
            }
            for left, lives in ways.items():
                state = self.after(count, lives)
                last = count == len(self.events)
                if last or state not in known:
                    known.append(state)
                    yield state, count, left


def _folder(group: list[tuple[str, int | None]]) -> str:
    (folder,) = {str(Path(name).parent) for name, _ in group}
    return folder


def _whole(path: Any, named: Mapping[str, Any]) -> Any:
    """Give the path that is meant by one relative to an open folder; all of a call have one."""
    folder = named.get("dir_fd", named.get("src_dir_fd"))
    if folder is None or not isinstance(path, str):
        return path
    return os.path.join(Path(f"/proc/self/fd/{folder}").readlink(), path)  # noqa: PTH118


@contextmanager
def watched(root: Path) -> Iterator[Disk]:
    """Note what is asked of the disk below a root; nothing is flushed in truth."""
    disk = Disk(root)
    real = {name: getattr(os, name) for name in ("open", "link", "replace", "unlink", "mkdir")}

    def opening(path: Any, flags: int, *more: Any, **named: Any) -> Any:
        made = real["open"](path, flags, *more, **named)
        path = _whole(path, named)
        if flags & os.O_CREAT and disk.mine(path):
            disk.make(path)
        return made

    def asking(name: str, note: Callable[..., None]) -> Callable[..., Any]:
        def ask(*places: Any, **named: Any) -> Any:
            done = real[name](*places, **named)
            whole = [_whole(place, named) for place in places]
            if disk.mine(whole[0]):
                note(*whole)
            return done

        return ask

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", opening)
        patch.setattr(os, "fsync", disk.flush)
        patch.setattr(os, "link", asking("link", lambda a, b: disk.change((b, a))))
        patch.setattr(os, "replace", asking("replace", lambda a, b: disk.change((b, a), (a, None))))
        patch.setattr(os, "unlink", asking("unlink", lambda a: disk.change((a, None))))
        patch.setattr(os, "mkdir", asking("mkdir", lambda a, *_: disk.change((a, FOLDER))))
        yield disk


def cut(trial: Trial, root: Path) -> int:
    """Let an operation be cut off at every step in every way; gives how many cuts there were."""
    place = root / "watched"
    shutil.copytree(trial.kept, place)
    with watched(place) as disk:
        ALL[trial.name].run(Table(opened(place)))
    whole = disk.after(len(disk.events), lambda _: True)
    assert content(place) == {name: held for name, held in whole.items() if held is not None}
    done = 0
    for state, count, left in disk.cuts():
        place = _rebuilt(trial.kept, root / "cut", state)
        finished = count == len(disk.events)
        trial.judge(place, finished=finished, note=f"{left} is left of {disk.events[:count][-3:]}")
        shutil.rmtree(place)
        done += 1
    return done


def _rebuilt(kept: Path, place: Path, state: State) -> Path:
    """Make a table what a disk held; what is as before keeps its times."""
    shutil.copytree(kept, place)
    before = content(place)
    for path in sorted(place.rglob("*"), reverse=True):
        if path.relative_to(place).as_posix() not in state:
            path.rmdir() if path.is_dir() else path.unlink()
    for name, held in state.items():
        if held is None:
            (place / name).mkdir(exist_ok=True)
        elif before.get(name) != held:
            (place / name).write_bytes(held)
    return place
