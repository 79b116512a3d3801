"""Library code prints nothing, and hides no error of every kind without a trace of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tracked import ROOT, tracked

PACKAGES = ("schemas", "reference_impl", "generators", "conformance")
BROAD = {"Exception", "BaseException"}
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


def _modules() -> list[str]:
    return tracked(*(f"{name}/*.py" for name in PACKAGES))


def _broad(caught: ast.expr | None) -> bool:
    return caught is None or any(
        isinstance(node, ast.Name) and node.id in BROAD for node in ast.walk(caught)
    )


def _is_open(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler raises, logs, formats or uses the error."""
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Name) and node.id in {handler.name, "traceback"})
        or (isinstance(node, ast.Attribute) and node.attr in LEVELS)
        for statement in handler.body
        for node in ast.walk(statement)
    )


def hidden(text: str) -> Iterator[str]:
    """Yield what a module prints, and where it hides an error of every kind."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ExceptHandler() if _broad(node.type) and not _is_open(node):
                yield f"line {node.lineno}: an error of every kind is dropped: log it"
            case ast.Call(func=ast.Name(id="suppress"), args=kinds) if any(map(_broad, kinds)):
                yield f"line {node.lineno}: errors of every kind are suppressed: log them"
            case ast.Call(func=ast.Name(id="print"), keywords=options) if all(
                option.arg != "file" for option in options
            ):
                yield f"line {node.lineno}: a library prints nothing: log it"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("try:\n  f()\nexcept Exception:\n  g()", 1),
        ("try:\n  f()\nexcept (OSError, BaseException):\n  pass", 1),
        ("try:\n  f()\nexcept:\n  pass", 1),
        ("with suppress(KeyError, Exception):\n  f()", 1),
        ("print(1)", 1),
        ("try:\n  f()\nexcept Exception:\n  _log.debug('f', exc_info=True)", 0),
        ("try:\n  f()\nexcept Exception as error:\n  kept.append(error)", 0),
        ("try:\n  f()\nexcept BaseException:\n  g()\n  raise", 0),
        ("try:\n  f()\nexcept KeyError:\n  pass", 0),
        ("with suppress(KeyError):\n  print(1, file=out)", 0),
    ],
)
def test_a_hidden_error_is_noticed(text: str, count: int) -> None:
    assert len(list(hidden(text))) == count


@pytest.mark.parametrize("name", [n for n in _modules() if not n.endswith("__main__.py")])
def test_a_module_hides_no_error(name: str) -> None:
    assert list(hidden((ROOT / name).read_text())) == []
