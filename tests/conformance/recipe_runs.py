"""A recipe of three steps, and a judged run of it by the reference writer, which may lie."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from conformance.adapter import Answer, Claims, Request, Write
from conformance.adapters import ours
from conformance.base.outcomes import Verdict
from conformance.golden.cases import Expected, ExpectedError, Spec
from conformance.judging.recipes.judge import replay_recipe
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import field, struct

SCHEMA = struct(field("id", "long"), field("part", "string"))
CREATE = {
    "operation": "create",
    "schema": SCHEMA.to_json(),
    "partition_columns": ["part"],
    "properties": {"owner": "me"},
}
ONE, TWO = {"id": "1", "part": "a"}, {"id": "2", "part": None}
APPEND = {"operation": "append", "rows": [ONE, TWO]}
DELETE = {
    "operation": "delete",
    "filter": {"op": "=", "args": [{"column": ["id"]}, {"literal": "1", "type": "long"}]},
    "predicate": "id = 1",
}
CLAIMS = ours.create().describe().claims
LEFT = [{"id": 2, "part": None}]
REFUSED = ExpectedError("constraint", "commit", "APP-002")


def recipe(*steps: dict[str, Any], expectation: Any = None) -> Spec:
    rows = partial(arrow_table, SCHEMA, LEFT)
    wanted = expectation or Expected({"versions": len(steps)}, rows)
    return Spec("c/s/w", "write", "t", ("LOG-003",), {"operations": list(steps)}, wanted)


def judged(
    folder: Path,
    spec: Spec,
    lie: Callable[[Write], Answer | None] = lambda _: None,
    claims: Claims = CLAIMS,
) -> Verdict:
    """Replay a recipe with the reference writer, which a lie may replace for a step."""
    writer = ours.create()

    def run(request: Request) -> tuple[Answer | None, BaseException | None]:
        assert isinstance(request, Write)
        return lie(request) or writer.run(request), None

    return replay_recipe(run, claims, spec, folder / "table")
