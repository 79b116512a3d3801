"""Wrong writers of the schema string, and of what it has to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import COMMIT, fields, parquet, schema, struct_fields, types, within_columns
from breaches.model import LINEAR, NESTED, Ask, Breach, How, writer
from breaches.seams import after_step, by_request, carrying_out, during, leaving, since
from breaches.views import bodies, commits_of, log_of
from conformance.adapter import Answer, Ok, Request, Write

_RULES = ("delta.invariants", "delta.generationExpression", "delta.identity")


_ALTERS = ("add_columns", "rename_column", "drop_column", "set_column_comment", "set_properties")


def asking_for(change: Any) -> How:
    """Write a table whose columns were changed before the step: a change that lost something."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        answer = ask(request)
        if isinstance(request, Write) and request.operation in _ALTERS:
            root = Path(request.table)
            latest = max(commits_of(root))
            name = f"_delta_log/{latest:020}.json"
            fields(change, name.replace(".", r"\."))(root, frozenset({name}))
            for path in log_of(root).glob(f"{latest:020}.crc"):
                path.unlink()
        return answer

    return run


def _nullable(field: Any) -> None:
    field["nullable"] = True


def _without_rules(field: Any) -> None:
    kept = {k: v for k, v in field["metadata"].items() if not k.startswith(_RULES)}
    field["metadata"] = kept


def _inner_untold(tree: Any) -> None:
    for field in tree["fields"]:
        if isinstance(field["type"], dict):
            for inner in struct_fields(field["type"]):
                inner["metadata"] = {}


def _unmarked(field: Any) -> None:
    field["metadata"].pop("delta.identity.highWaterMark", None)


def _untold(field: Any) -> None:
    field["metadata"].pop("comment", None)


def losing(key: str, operation: str, breaks: str, slug: str, case: str) -> Breach:
    """Lose a key of column metadata from an operation on."""
    lost = fields(lambda field: field["metadata"].pop(key, None) and None, COMMIT)
    return writer(slug, breaks, since(operation, lost), case)


@by_request
def _latest_file_checked(ask: Ask, request: Request) -> Answer:
    """Let a column have no nulls that has none in the file that came last."""
    if isinstance(request, Write) and request.operation == "set_nullable":
        root = Path(request.table)
        last = [body["path"] for body in bodies(root, "add")][-1]
        column = pq.read_table(root / last).column(request.arguments["column"])
        if not column.null_count:
            return Ok({"version": None})
    return ask(request)


def _outer_metadata(tree: Any) -> None:
    """Leave out the metadata of columns within others, as comments."""
    for column in tree["fields"]:
        for inner in struct_fields(column["type"]):
            metadata = inner["metadata"]
            inner["metadata"] = {k: v for k, v in metadata.items() if k.startswith("delta.")}


def _instant(field: pa.Field[Any]) -> pa.Field[Any]:
    local = pa.types.is_timestamp(field.type)
    return field.with_type(pa.timestamp("us", "UTC")) if local else field


ROWS = (
    writer(
        "carries-out-sch-025",
        "SCH-025",
        carrying_out(),
        "schema-serialization-format/write-null-refused*",
    ),
    writer(
        "carries-out-sch-028",
        "SCH-028",
        carrying_out(),
        "schema-serialization-format/write-add-taken-name*",
    ),
    writer(
        "calls-structs-otherwise",
        "SCH-021",
        leaving(schema(lambda t: t.update(type="record"))),
        LINEAR,
    ),
    writer(
        "leaves-fields-out",
        "SCH-022",
        leaving(schema(lambda t: t.pop("fields") and None)),
        LINEAR,
    ),
    writer(
        "leaves-names-out",
        "SCH-023",
        leaving(fields(lambda f: f.pop("name", None))),
        LINEAR,
    ),
    writer(
        "leaves-types-out",
        "SCH-024",
        leaving(fields(lambda f: f.pop("type", None))),
        LINEAR,
    ),
    writer(
        "leaves-nullable-out",
        "SCH-025",
        leaving(fields(lambda f: f.pop("nullable", None))),
        LINEAR,
    ),
    writer(
        "leaves-metadata-out",
        "SCH-026",
        leaving(fields(lambda f: f.pop("metadata", None))),
        LINEAR,
    ),
    writer(
        "leaves-elementType-out",
        "SCH-030",
        leaving(types("array", lambda t: t.pop("elementType"))),
        NESTED,
    ),
    writer(
        "leaves-containsNull-out",
        "SCH-031",
        leaving(types("array", lambda t: t.pop("containsNull"))),
        NESTED,
    ),
    writer(
        "leaves-keyType-out",
        "SCH-033",
        leaving(types("map", lambda t: t.pop("keyType"))),
        NESTED,
    ),
    writer(
        "leaves-valueType-out",
        "SCH-034",
        leaving(types("map", lambda t: t.pop("valueType"))),
        NESTED,
    ),
    writer(
        "keeps-instants-without-zone",
        "SCH-015",
        leaving(
            parquet(
                lambda t: t.cast(
                    pa.schema(
                        [
                            f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f
                            for f in t.schema
                        ]
                    )
                )
            )
        ),
        "data-files/write-append-types*",
    ),
    writer(
        "keeps-zoneless-instants-with-zone",
        "SCH-019",
        leaving(
            parquet(
                lambda t: t.cast(
                    pa.schema(
                        [
                            f.with_type(pa.timestamp("us", "UTC"))
                            if pa.types.is_timestamp(f.type)
                            else f
                            for f in t.schema
                        ]
                    )
                )
            )
        ),
        "timestamp-ntz/write-data*",
    ),
    writer(
        "loses-what-is-said-of-columns",
        "SCH-037",
        after_step(2, leaving(fields(lambda f: f.update(metadata={})))),
        "schema-serialization-format/write-*",
    ),
    writer(
        "lets-nulls-in-later",
        "SCH-025",
        asking_for(_nullable),
        "schema-serialization-format/write-null-refused-later/*",
    ),
    writer(
        "lets-nulls-in-after-renaming",
        "SCH-025",
        asking_for(_nullable),
        "column-mapping/write-null-refused-renamed/*",
    ),
    writer(
        "loses-generation-with-a-column",
        "SCH-037",
        asking_for(_without_rules),
        "generated-columns/write-broken-later/*",
    ),
    writer(
        "loses-invariants-with-a-column",
        "SCH-037",
        asking_for(_without_rules),
        "column-invariants/write-broken-later/*",
    ),
    writer(
        "loses-identity-with-a-column",
        "SCH-037",
        asking_for(_without_rules),
        "identity-columns/write-add-column/*",
    ),
    writer(
        "loses-what-is-said-within-columns",
        "SCH-037",
        during("add_columns", schema(_inner_untold)),
        "schema-serialization-format/write-add-column-beside-nested/*",
    ),
    writer(
        "forgets-comments-with-not-null",
        "SCH-037",
        during("set_nullable", fields(_untold, COMMIT)),
    ),
    writer(
        "forgets-marks-with-a-name",
        "SCH-037",
        during("rename_column", fields(_unmarked, COMMIT)),
        "identity-columns/write-mark-kept-by-rename/*",
    ),
    writer(
        "renames-to-names-that-are-taken", "SCH-028", carrying_out(), "*/write-rename-taken-name/*"
    ),
    losing(
        "delta.generationExpression",
        "set_nullable",
        "SCH-037",
        "loosens-away-an-expression",
        "generated-columns/write-kept-by-nullable/*",
    ),
    writer(
        "checks-one-file-for-nulls",
        "SCH-025",
        _latest_file_checked,
        "*/write-not-null-refused/*",
    ),
    writer(
        "forgets-identity-when-a-column-comes",
        "SCH-037",
        during(
            "add_columns",
            fields(
                lambda field: field["metadata"].pop("delta.identity.step", None) and None, COMMIT
            ),
        ),
        "identity-columns/write-columns-course/*",
    ),
    *(
        writer(
            f"forgets-a-default-in-{operation.replace('_', '-')}",
            "SCH-037",
            during(
                operation,
                fields(
                    lambda field: field["metadata"].pop("CURRENT_DEFAULT", None) and None, COMMIT
                ),
            ),
            f"default-columns/write-kept-by-{change}/*",
        )
        for operation, change in (("reorder_columns", "reorder"), ("set_properties", "properties"))
    ),
    writer(
        "forgets-a-default-in-set-nullable",
        "SCH-037",
        during(
            "set_nullable",
            fields(lambda field: field["metadata"].pop("CURRENT_DEFAULT", None) and None, COMMIT),
        ),
        "default-columns/write-kept-by-nullable/*",
    ),
    writer(
        "forgets-an-invariant-in-set-nullable",
        "SCH-037",
        during(
            "set_nullable",
            fields(lambda field: field["metadata"].pop("delta.invariants", None) and None, COMMIT),
        ),
        "column-invariants/write-columns-course/*",
    ),
    writer(
        "lets-no-nulls-in-beside-a-constraint",
        "SCH-025",
        during("add_constraint", fields(lambda field: field.update(nullable=False), COMMIT)),
        "check-constraints/write-add/*",
    ),
    writer(
        "takes-local-times-within-columns-for-instants",
        "SCH-019",
        leaving(within_columns(_instant)),
        "timestamp-ntz/write-data/*",
    ),
    *(
        writer(
            f"forgets-inner-columns-by-{operation.replace('_', '-')}",
            "SCH-037",
            during(operation, schema(_outer_metadata)),
            f"{case}/*",
        )
        for operation, case in (
            ("rename_column", "column-mapping/write-kept-within-by-rename"),
            ("drop_column", "column-mapping/write-kept-within-by-rename"),
            ("reorder_columns", "schema-serialization-format/write-kept-within-by-settings"),
            ("set_nullable", "schema-serialization-format/write-kept-within-by-settings"),
            ("set_comment", "schema-serialization-format/write-kept-within-by-settings"),
            ("set_properties", "schema-serialization-format/write-kept-within-by-settings"),
            ("change_type", "type-widening/write-kept-within-by-widen"),
        )
    ),
)
