"""Cases of tables that a later commit defines anew, below the files that go by the new definition.

Serves "Add File and Remove File": readers should not assume an order of the actions in a commit.
A reader that takes what a table is when it meets the first file goes by the definition before.
"""

from __future__ import annotations

from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import publish
from generators.golden.cases.table import GoldenTable, add, feature_protocol, remove
from generators.golden.chapters.files.deletion_vectors import store, with_vector
from generators.oracle.delta_schema import field, struct

REDEFINED: Final = Chapter("delta-log-entries", since="2025")


@REDEFINED.case("redefined-after-files", "FA-015 REC-012 REC-013")
def _redefined(case: CaseWriter) -> None:
    """Metadata and protocol of later commits hold for the files above them."""
    table = GoldenTable.of(case, struct(id="long", name="string"))
    old = table.file([{"id": 1, "name": "a"}])
    table.create(add(old))
    table.schema = table.schema.with_fields(field("extra", "double"))
    new = table.file([{"id": n, "name": "b", "extra": n / 2} for n in (2, 3, 4)])
    table.commit(add(new), remove(old), table.metadata(), operation="REPLACE TABLE")
    table.protocol = feature_protocol(["deletionVectors"])
    table.properties = {"delta.enableDeletionVectors": "true"}
    (vector,) = store(table, [1])
    table.commit(
        *with_vector(new, vector),
        table.metadata(),
        table.protocol_action(),
        operation="DELETE",
    )
    case.judged = dict.fromkeys(("read-v1", "snapshot-v1", "snapshot-latest"), "FA-015")
    publish(case, table)
