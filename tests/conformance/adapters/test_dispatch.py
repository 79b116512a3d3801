"""The adapter that two tables of functions make."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter, Answer, Claims, Ok, Refused, Scan, Snapshot, Write
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import Refusals, Rule


class EngineError(Exception):
    """What a made-up engine raises."""


REFUSALS = Refusals(
    errors=(EngineError,),
    rules=(
        Rule("version 9", "not_found", "load"),
        Rule("EngineError: CHECK", "constraint"),
    ),
    crashes="assertion",
)


def adapter(message: str = "") -> EngineAdapter:
    def work(_: object) -> str:
        if message:
            raise EngineError(message)
        return "done"

    return EngineAdapter(
        name="made-up",
        engine_version="7",
        claims=Claims(reader_version=2, capabilities=frozenset({"scan.version"})),
        refusals=REFUSALS,
        reads={"scan": work},
        writes={"append": work},
    )


def test_it_is_an_adapter() -> None:
    assert isinstance(adapter(), Adapter)


def test_it_claims_the_operations_that_it_has() -> None:
    claims = adapter().describe().claims
    assert claims.operations == {"scan", "append"}
    assert (claims.reader_version, claims.capabilities) == (2, {"scan.version"})


def test_it_answers_with_what_the_function_gives() -> None:
    assert adapter().run(Scan("t")) == Ok("done")
    assert adapter().run(Write("t", "append")) == Ok("done")


@pytest.mark.parametrize("request_", [Snapshot("t"), Write("t", "delete")])
def test_it_refuses_what_it_does_not_have(request_: Snapshot | Write) -> None:
    answer = adapter().run(request_)
    assert isinstance(answer, Refused)
    assert answer.kind == "unsupported"
    assert "made-up" in answer.message


@pytest.mark.parametrize(
    ("message", "kind", "stage"),
    [
        ("no version 9 here", "not_found", "load"),
        ("CHECK failed", "constraint", None),
        ("a CHECK elsewhere", None, None),
    ],
)
def test_a_refusal_has_the_kind_that_the_words_say(
    message: str, kind: str | None, stage: str | None
) -> None:
    assert adapter(message).run(Scan("t")) == Refused(kind, stage, f"EngineError: {message}")  # type: ignore[arg-type]


def test_a_refused_write_is_refused_at_commit_unless_the_words_say_otherwise() -> None:
    answers = [adapter(text).run(Write("t", "append")) for text in ("CHECK", "version 9")]
    assert [answer.stage for answer in answers if isinstance(answer, Refused)] == ["commit", "load"]


def test_a_broken_invariant_of_the_engine_is_no_refusal() -> None:
    with pytest.raises(EngineError):
        adapter("assertion failed").run(Scan("t"))


def test_an_error_that_is_not_the_engines_passes_through() -> None:
    refusals = Refusals(errors=(EngineError,))
    with pytest.raises(ZeroDivisionError):
        refusals.answer(lambda: 1 // 0)


def test_the_noise_of_a_message_is_left_out() -> None:
    def fail() -> None:
        raise EngineError("no\n\tat a.b.C\nCaused by: why")

    refusals = Refusals(errors=(EngineError,), noise=r"^\s*at ")
    answer = refusals.answer(fail)
    assert answer == Refused(None, None, "EngineError: no\nCaused by: why")


def test_a_long_message_is_cut() -> None:
    answer = adapter("x" * 10_000).run(Scan("t"))
    assert isinstance(answer, Refused)
    assert len(answer.message) < 3_000


def test_an_untyped_exception_is_a_refusal_of_an_engine_that_refuses_so() -> None:
    def refuse(error: Exception) -> Answer:
        def call() -> None:
            raise error

        return Refusals(errors=(EngineError,), untyped=True).answer(call)

    assert refuse(Exception("taken")) == Refused(None, None, "Exception: taken")
    with pytest.raises(KeyError):
        refuse(KeyError("a mistake of the adapter"))
