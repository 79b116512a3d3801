"""An answer is compared as plain data, whatever an adapter in the same process made it of."""

from __future__ import annotations

from collections import UserDict, UserList, UserString
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fakes import EVERYTHING, Told
from tiny import READ, SNAPSHOT, SNAPSHOT_SPEC, write_case

from conformance.adapter import Answer, Ok, Refused, Request
from conformance.base.faults import AdapterError
from conformance.base.outcomes import Outcome
from conformance.golden.corpus import load_corpus
from conformance.judging.answers import plain_answer
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore


class _Equal:
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


class _Int(_Equal, int):
    pass


class _Float(_Equal, float):
    pass


class _Str(_Equal, str):
    __slots__ = ()

    def __str__(self) -> str:
        return self


class _List(_Equal, list[Any]):
    pass


class _Dict(_Equal, dict[str, Any]):
    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: str) -> Any:
        return _Dict()


class _Rows:
    """What looks like a table of any rows."""

    def __getattr__(self, name: str) -> Any:
        return getattr(READ_ROWS, name)


READ_ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


class _Says(Told):
    def __init__(self, answer: object) -> None:
        super().__init__(EVERYTHING)
        self.answer = answer

    def run(self, request: Request) -> Answer:
        self.asked.append(request)
        return self.answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        (SNAPSHOT_SPEC, Ok(_Dict(protocol=_Dict(), metadata=_Dict()))),
        (SNAPSHOT_SPEC, Ok({"protocol": _Dict(), "metadata": _Dict()})),
        (SNAPSHOT_SPEC, Ok(_Equal())),
        (SNAPSHOT_SPEC, type("Ok", (Ok,), {})(SNAPSHOT)),
        (READ, Ok(_Rows())),
    ],
)
def test_what_says_that_it_equals_anything_does_not_pass(
    spec: dict[str, Any], answer: object, tmp_path: Path, store: TableStore
) -> None:
    write_case(tmp_path, "chapter/case", {"q": spec})
    (case,) = load_corpus(tmp_path).cases
    (asked,) = case.specs
    outcome = Judge(_Says(answer), EVERYTHING, store).judge(case, asked).outcome
    assert outcome in {Outcome.FAIL, Outcome.ERROR}


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (_Int(3), 3),
        (np.int64(3), 3),
        (_Float(1.5), 1.5),
        (np.float64(1.5), 1.5),
        (_Str("a"), "a"),
        (True, True),
        (None, None),
        (_List([_Int(1)]), [1]),
        ((1, "b"), [1, "b"]),
        (UserList([1]), [1]),
        (_Dict({_Str("a"): _List()}), {"a": []}),
        (UserDict({"a": 1}), {"a": 1}),
    ],
)
def test_an_answer_becomes_built_in_types(given: Any, plain: Any) -> None:
    found = plain_answer(Ok(given))
    assert isinstance(found, Ok)
    assert repr(found) == repr(Ok(plain))
    assert type(found.payload) is type(plain)


@pytest.mark.parametrize(
    "payload", [b"bytes", {1, 2}, object(), Decimal(1), Path("a"), [{"a": b""}], iter([1])]
)
def test_what_json_does_not_have_is_no_answer(payload: object) -> None:
    with pytest.raises(AdapterError, match="answered"):
        plain_answer(Ok(payload))


def test_a_refusal_is_plain_as_well() -> None:
    found = plain_answer(Refused(_Str("unsupported"), _Str("load"), _Str("no")))  # type: ignore[arg-type]
    assert isinstance(found, Refused)
    assert repr(found) == repr(Refused("unsupported", "load", "no"))
    assert {type(found.kind), type(found.message)} == {str}


@pytest.mark.parametrize("answer", [None, 3, "ok", {"ok": 1}, (Ok(1),), UserString("a")])
def test_what_is_neither_is_no_answer(answer: object) -> None:
    with pytest.raises(AdapterError):
        plain_answer(answer)
