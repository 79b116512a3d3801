"""Cases of texts that look alike: paths, values and numbers that may not be made equal.

Covers "Add File and Remove File", "Per-file Statistics", "Transaction Identifiers", "Type
Widening" and "Partition Value Serialization". A reader that normalises Unicode, folds case, pads,
takes a path for a URL with a query or lets a number pass through a double or a decimal text gives
another answer.
"""

from __future__ import annotations

import struct as packing
import unicodedata
from dataclasses import replace
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import Filter, compare, is_in, starts_with
from generators.golden.cases.publish import filtered, publish
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import GoldenTable, add, feature_protocol, remove, txn
from generators.golden.chapters.log.reconciliation import txn_spec
from generators.materialise.data.paths import encode_path
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.oracle.delta_schema import field, struct, type_of
from generators.oracle.filters import column, node
from generators.oracle.literals import literal

PATHS: Final = Chapter("add-file-and-remove-file")
VALUES: Final = Chapter("per-file-statistics")
PARTITIONS: Final = Chapter("partition-value-serialization")
TRANSACTIONS: Final = Chapter("transaction-identifiers")
WIDENING: Final = Chapter("type-widening", since="upstream")

_DECOMPOSED = unicodedata.normalize("NFD", "é")
_COMPOSED = unicodedata.normalize("NFC", "é")


@PATHS.case("look-alike-paths", "ADD-002 ADD-003 REM-002 REC-018")
def _paths(case: CaseWriter) -> None:
    """Paths that look alike are paths of their own."""
    table = GoldenTable.of(case, PAIR)
    names = (
        f"composed-{_COMPOSED}.parquet",
        f"decomposed-{_DECOMPOSED}.parquet",
        "asked?x=1.parquet",
        "part#1.parquet",
        "plus+plus.parquet",
        "two words.parquet",
        "semi;colon,comma.parquet",
        "percent%20literal.parquet",
    )
    files = [table.file([{"id": n, "name": name}], path=name) for n, name in enumerate(names)]
    table.create(*(add(file) for file in files))
    gone = [table.file([{"id": 90, "name": "gone"}], path="gone?x=1.parquet")]
    table.commit(*(add(file) for file in gone))
    table.commit(*(remove(file) for file in gone), operation="DELETE")
    publish(case, table)


@PATHS.case("remove-look-alikes", "REM-002 REC-006 ADD-003")
def _removed(case: CaseWriter) -> None:
    """A removed path that looks like another one removes nothing of it."""
    table = GoldenTable.of(case, PAIR)
    # No removed file was ever there, so that file systems that fold names hold all that are.
    pairs = {
        f"composed-{_COMPOSED}.parquet": f"composed-{_DECOMPOSED}.parquet",
        f"decomposed-{_DECOMPOSED}.parquet": f"decomposed-{_COMPOSED}.parquet",
        "plus+plus.parquet": "plus plus.parquet",
        "two words.parquet": "two+words.parquet",
        "asked.parquet?x=1": "asked.parquet",
        "part.parquet#a": "part.parquet",
        "plain.parquet": "plain.parquet?x=1",
        "bare.parquet": "bare.parquet#a",
        "semi.parquet;1": "semi.parquet",
        "blank.parquet": "blank.parquet ",
        "suffix.parquet": "suffix",
        "narrow.parquet": "\uff4earrow.parquet",
        "deep/inner.parquet": "inner.parquet",
        "percent%41.parquet": "percentA.parquet",
    }
    kept = [table.file([{"id": n, "name": name}], path=name) for n, name in enumerate(pairs)]
    table.create(*(add(file) for file in kept))
    gone = zip(kept, pairs.values(), strict=True)
    table.commit(*(remove(file, path=encode_path(name)) for file, name in gone), operation="DELETE")
    publish(case, table)


@PATHS.case("one-name-in-folders", "REC-018 REC-008 REM-002")
def _one_name(case: CaseWriter) -> None:
    """A remove takes the file of its path, and none of that name elsewhere."""
    table = GoldenTable.of(case, PAIR)
    paths = ("part.parquet", "a/part.parquet", "b/part.parquet", "b/a/part.parquet")
    files = [table.file([{"id": n, "name": path}], path=path) for n, path in enumerate(paths)]
    table.create(*(add(file) for file in files))
    table.commit(remove(files[1]), operation="DELETE")
    case.judged |= dict.fromkeys(("read-latest", "read-v1", "files-latest"), "REC-018")
    publish(case, table)


@PATHS.case("colons-in-names", "ADD-002 ADD-003 REM-002")
def _colons(case: CaseWriter) -> None:
    """A colon in a name is no scheme, encoded or after a folder."""
    table = GoldenTable.of(case, PAIR)
    names = ("12:30.parquet", "file:x.parquet", "at/12:30.parquet")
    files = [table.file([{"id": n, "name": name}], path=name) for n, name in enumerate(names)]
    bare = table.register(replace(files[2], body={**files[2].body, "path": names[2]}))
    gone = table.file([{"id": 9, "name": "gone"}], path="gone:1.parquet")
    table.create(*map(add, files[:2]), add(bare), add(gone))
    table.commit(remove(gone), operation="DELETE")
    case.judged = dict.fromkeys(("read-latest", "read-v0", "read-v1"), "SNAP-007")
    publish(case, table)
    for slug, judged, ids in (("encoded", "ADD-003", [0, 1]), ("bare", "ADD-002", [2])):
        title = "What stands before a colon of a name is no scheme"
        filtered(case, table, slug, is_in("id", ids, "long"), title, requirement=judged)


def _is(names: tuple[str, ...], value: int) -> Filter:
    """Compare a column whose name may have dots in it."""
    sql = ".".join(f"`{name}`" for name in names)
    return Filter(node("=", column(*names), literal(type_of("long"), value)), f"{sql} = {value}")


@VALUES.case("dotted-names", "STAT-012 STAT-006")
def _dotted(case: CaseWriter) -> None:
    """A dot in a name leads into no struct."""
    inner = struct(field("b", "long"), field("c.d", "long"), field("c", struct(d="long")))
    long = "long"
    schema = struct(field("id", long), field("a.b", long), field("a", inner), field("a.c.d", long))
    table = GoldenTable.created(case, schema)
    for n in range(2):
        deep = {"b": 200 + n, "c.d": 300 + n, "c": {"d": 400 + n}}
        table.append([{"id": n, "a.b": 100 + n, "a": deep, "a.c.d": 500 + n}])
    style = CheckpointStyle(stats_json=False, stats_parsed=True)
    table.checkpoint(version=1, style=style, hint=False)
    publish(case, table, log_info={"lastCheckpointVersion": 1})
    for slug, names, value in (
        ("dotted", ("a.b",), 101),
        ("nested", ("a", "b"), 201),
        ("dotted-within", ("a", "c.d"), 300),
        ("nested-twice", ("a", "c", "d"), 400),
        ("dotted-twice", ("a.c.d",), 501),
    ):
        filtered(case, table, slug, _is(names, value), "Bounds are those of the column asked for")


@VALUES.case("look-alike-texts", "STAT-012 STAT-006")
def _texts(case: CaseWriter) -> None:
    """Texts that look alike are values of their own."""
    table = GoldenTable.created(case, struct(id="long", s="string"))
    texts = (
        "a",
        "A",
        "a ",
        " a",
        "a\t",
        _COMPOSED,
        _DECOMPOSED,
        "\uff41",
        "a\u200b",
        "1",
        "1.0",
        "",
    )
    for number, text in enumerate(texts):
        table.append([{"id": number, "s": text}])
    publish(case, table, versions=[])
    for number, text in enumerate(texts):
        title = "A text is equal to itself alone"
        filtered(case, table, f"equal-{number}", compare("s", "=", text, "string"), title)
        filtered(case, table, f"unequal-{number}", compare("s", "<>", text, "string"), title)
    for number, text in enumerate(texts):
        title = "Texts are in the order of their characters"
        filtered(case, table, f"above-{number}", compare("s", ">", text, "string"), title)
        filtered(case, table, f"below-{number}", compare("s", "<", text, "string"), title)


@VALUES.case("prefixes-like-patterns", "STAT-006 STAT-012 PART-013")
def _prefixes(case: CaseWriter) -> None:
    """A prefix has no wildcards: each of its characters is one of the text."""
    table = GoldenTable.created(
        case, struct(id="long", s="string", p="string"), partition_columns=["p"]
    )
    for number, text in enumerate(("a_b", "axb", "a%b", "ab", "a\\b", "%", "\\%")):
        table.append([{"id": number, "s": text}], partition={"p": text})
    publish(case, table, versions=[])
    for slug, prefix in (("any", "a_"), ("all", "a%"), ("escaped", "\\%"), ("bare", "%")):
        for name in ("s", "p"):
            title = "A prefix is found as it stands"
            filtered(case, table, f"{slug}-{name}", starts_with(name, prefix), title)


@PARTITIONS.case("look-alike-values", "PART-003 PART-001")
def _values(case: CaseWriter) -> None:
    """Partition values that look alike are values of their own."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    texts = (f"e {_COMPOSED}", f"e {_DECOMPOSED}", "a", "\uff41", "a\u200b", "1", "1.0", "01", "+1")
    # File systems may fold names: no file lies in a folder of its value.
    files = [
        table.file([{"id": number}], partition={"p": text}, path=f"file-{number}.parquet")
        for number, text in enumerate(texts)
    ]
    table.create(*(add(file) for file in files))
    publish(case, table)
    for number, text in enumerate(texts):
        title = "A partition value is equal to itself alone"
        filtered(case, table, f"equal-{number}", compare("p", "=", text, "string"), title)


@TRANSACTIONS.case("beyond-double", "TXN-002 REC-004")
def _beyond_double(case: CaseWriter) -> None:
    """The version of an application is exact to 64 bits."""
    table = GoldenTable.of(case, PAIR)
    versions = {"odd": 2**53 + 1, "most": 2**63 - 1, "other": 2**62 + 1}
    table.create(*(txn(app, version) for app, version in versions.items()))
    table.append([{"id": 1, "name": "a"}])
    table.checkpoint(version=1, hint=False)
    table.commit(txn("other", 2**62 + 3))
    publish(case, table, log_info={"lastCheckpointVersion": 1})
    case.judged = {f"txn-{app}": "TXN-005" for app in versions}
    for app, version in {**versions, "other": 2**62 + 3}.items():
        txn_spec(case, app, version)
    txn_spec(case, "other", versions["other"], 0)


@WIDENING.case("float-to-double-inexact", "TW-012")
def _inexact(case: CaseWriter) -> None:
    """A float that is widened keeps its value, not its text."""
    table = GoldenTable.created(
        case,
        struct(id="long", v="float"),
        protocol=feature_protocol(["typeWidening"]),
        properties={"delta.enableTypeWidening": "true"},
    )
    values = [
        float(packing.unpack("<f", packing.pack("<f", value))[0]) for value in (0.1, 1 / 3, 3.4e38)
    ]
    old: list[dict[str, Any]] = [{"id": n, "v": value} for n, value in enumerate(values)]
    table.append(old)
    change = {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
    table.schema = struct(field("id", "long"), field("v", "double", metadata=change))
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.append([{"id": 9, "v": 0.1}])
    publish(case, table)
    for number, value in enumerate((*values, 0.1)):
        probe = compare("v", "=", value, "double")
        title = "Bounds of the narrow type are widened exactly"
        filtered(case, table, f"equal-{number}", probe, title)
