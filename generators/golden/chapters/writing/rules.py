"""Cases of writing: recipes for rules that bind writers alone, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs, unasked
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import Struct, array, field, map_of, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import MergeClause, SetComment

IDENTITY: Final = Chapter("identity-columns")
INVARIANTS: Final = Chapter("column-invariants")
GENERATED: Final = Chapter("generated-columns", since="2025")
VERSIONS: Final = Chapter("version-requirements")
VARIANT: Final = Chapter("variant-type", since="upstream")
SHREDDED: Final = Chapter("variant-shredding", since="upstream")
FEATURES: Final = Chapter("table-features", since="2025")
CLOCK: Final = Chapter("in-commit-timestamps", since="2025")
TRACKING: Final = Chapter("row-tracking", since="2025")
CHECKS: Final = Chapter("check-constraints", since="2025")
DEFAULTS: Final = Chapter("default-columns", since="2025")
MAPPING: Final = Chapter("column-mapping", since="2025")

_LISTED: Final = ("identityColumns",)
_MAPPED: Final = {"delta.columnMapping.mode": "name"}


def _constraint(requirement: str) -> Refusal:
    return Refusal("constraint", "commit", requirement)


def _numbered(start: int, step: int, **more: Any) -> Struct:
    """Return a table whose first column is an identity column."""
    metadata = {"start": start, "step": step, "allowExplicitInsert": False, **more}
    return struct(
        field("k", "long", metadata={f"delta.identity.{n}": v for n, v in metadata.items()}),
        field("id", "long"),
    )


def _ids(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number} for number in numbers]


def _counted(start: int, step: int, case: CaseWriter) -> None:
    recipe = Recipe(_numbered(start, step), features=_LISTED)
    recipe.append_numbered("k", *_ids(1, 2, 3)).append_numbered("k", *_ids(4))
    recipe.delete(compare("id", "=", 4, "long")).append_numbered("k", *_ids(5, 6))
    recipe.checkpoint().append_numbered("k", *_ids(7)).publish(case)


for _name, _title, _start, _step in (
    ("up", "Values of an identity column grow past the high water mark", 1, 1),
    ("down", "Values of an identity column fall where its step is negative", 10, -5),
    ("wide", "Values of an identity column keep to start and step", -3, 7),
):
    IDENTITY.define(
        f"write-{_name}",
        _title,
        "IDN-012 IDN-013 IDN-014 IDN-016",
        partial(_counted, _start, _step),
    )


@IDENTITY.case("write-given", "IDN-012 IDN-013 IDN-014 IDN-016")
def _going_on(case: CaseWriter) -> None:
    """Values go on from the mark that another writer left."""
    recipe = Recipe(_numbered(10, -5, highWaterMark=0), features=_LISTED)
    recipe.append([{"k": 10, "id": 1}, {"k": 0, "id": 2}]).given()
    recipe.append_numbered("k", *_ids(3)).append_numbered("k", *_ids(4, 5)).publish(case)


@IDENTITY.case("write-no-rows", "IDN-014 IDN-016")
def _none_counted(case: CaseWriter) -> None:
    """Appending no rows uses up no identity values."""
    recipe = Recipe(_numbered(5, 5), features=_LISTED).append_numbered("k")
    recipe.append_numbered("k", *_ids(1)).append_numbered("k")
    recipe.append_numbered("k", *_ids(2, 3)).publish(case)


def _mark_kept(change: Callable[[Recipe], Recipe], case: CaseWriter) -> None:
    recipe = Recipe(_numbered(1, 1, highWaterMark=2), (), _MAPPED, (*_LISTED, "columnMapping"))
    recipe.append([{"k": 1, "id": 1}, {"k": 2, "id": 2}]).given()
    # An append would write the mark again.
    change(recipe).publish(case)


for _name, _title, _change in (
    ("rename", "A column that is renamed", lambda recipe: recipe.rename_column("k", "key")),
    ("comment", "A column that gets a comment", lambda r: r.do(SetComment("k", "the key"))),
):
    IDENTITY.define(
        f"write-mark-kept-by-{_name}",
        f"{_title} keeps the mark of its identity values",
        "SCH-037 IDN-016",
        partial(_mark_kept, _change),
        since="2025",
    )


@IDENTITY.case("write-explicit", "IDN-010")
def _explicit(case: CaseWriter) -> None:
    """Users give values where the column lets them."""
    recipe = Recipe(_numbered(1, 1, allowExplicitInsert=True), features=_LISTED)
    recipe.append([{"k": 1000, "id": 1}]).append([{"k": -7, "id": 2}]).publish(case)


@IDENTITY.case("write-explicit-beyond-marks", "IDN-008 IDN-009 IDN-010")
def _beyond_marks(case: CaseWriter) -> None:
    """The marks of identity columns go with values that users give."""
    up, down = (
        _numbered(start, step, allowExplicitInsert=True, highWaterMark=mark)["k"]
        for start, step, mark in ((1, 1, 3), (10, -5, 0))
    )
    recipe = Recipe(struct(up, replace(down, name="d"), field("id", "long")), features=_LISTED)
    recipe.append([{"k": 3, "d": 0, "id": 1}]).given()
    recipe.append([{"k": 1000, "d": -7, "id": 2}, {"k": 20, "d": 5, "id": 3}])
    # What is not beyond them leaves them where they are.
    recipe.append([{"k": -4, "d": 90, "id": 4}]).publish(case)


@IDENTITY.case("write-explicit-refused", "IDN-011")
def _explicit_refused(case: CaseWriter) -> None:
    """Users give no values where the column does not let them."""
    recipe = Recipe(_numbered(1, 1), features=_LISTED)
    recipe.append_numbered("k", *_ids(1)).append([{"k": 1000, "id": 2}])
    recipe.publish(case, refusal=_constraint("IDN-011"))


@IDENTITY.case("write-add-column", "IDN-012 IDN-014 SCH-037")
def _beside_identity(case: CaseWriter) -> None:
    """Identity values go on when a column is added."""
    recipe = Recipe(_numbered(10, 10), features=_LISTED).append_numbered("k", *_ids(1, 2))
    recipe.add_column(field("later", "string"))
    recipe.append_numbered("k", {"id": 3, "later": "x"}).publish(case)


@IDENTITY.case("write-merge-same-values", "IDN-011 IDN-012")
def _merged_identity(case: CaseWriter) -> None:
    """A merge may give rows the identity values that they have."""
    recipe = Recipe(_numbered(1, 1, highWaterMark=2), features=_LISTED)
    recipe.append([{"k": 1, "id": 1}, {"k": 2, "id": 2}]).given()
    on = node("=", column("target", "k"), column("source", "k"))
    recipe.merge([{"k": 1, "id": 100}], on, MergeClause("matched", "update"))
    recipe.publish(
        case,
        contested=[
            ("carried-out", "the clause speaks of inserts", None),
            ("refused", "users give no values of the column at all", _constraint("IDN-011")),
        ],
    )


@IDENTITY.case("write-merge-updates", "IDN-012 FA-021")
def _merged_updates(case: CaseWriter) -> None:
    """Rows that a merge changes keep their identity values."""
    recipe = Recipe(_numbered(3, 4), features=_LISTED).append_numbered("k", *_ids(1, 2, 3))
    on = node("=", column("target", "id"), column("source", "id"))
    value = {"id": node("+", column("target", "id"), literal("long", 10))}
    clauses = [MergeClause("not_matched_by_source", "update", None, value)]
    clauses.append(MergeClause("not_matched", "insert"))
    recipe.merge_numbered("k", _ids(4), on, *clauses).publish(case)


@IDENTITY.case("write-merge", "IDN-012 IDN-013 IDN-014 IDN-016")
def _merged_numbers(case: CaseWriter) -> None:
    """Rows that a merge or an overwrite brings get values past the mark."""
    third = node("=", column("target", "id"), literal("long", 3))
    recipe = Recipe(_numbered(3, 4), features=_LISTED).append_numbered("k", *_ids(1, 2, 3))
    recipe.merge_numbered(
        "k",
        _ids(4, 5),
        SAME_ID,
        MergeClause("matched", "delete"),
        MergeClause("not_matched", "insert"),
        MergeClause("not_matched_by_source", "delete", third),
    )
    recipe.append_numbered("k", *_ids(6))
    recipe.overwrite_numbered("k", _ids(7, 8), compare("id", ">", 5, "long"))
    recipe.merge_numbered("k", _ids(9), SAME_ID, MergeClause("not_matched", "insert"))
    recipe.overwrite_numbered("k", _ids(10)).append_numbered("k", *_ids(11)).publish(case)


def _rule_stays(key: str, rule: str, requirement: str, case: CaseWriter) -> None:
    schema = struct(field("x", "long"), field("y", "long", metadata={key: rule}))
    feature = "invariants" if key == "delta.invariants" else "generatedColumns"
    recipe = Recipe(schema, features=(feature,)).append([{"x": 2, "y": 4}])
    recipe.add_column(field("later", "string")).append([{"x": 3, "y": 6, "later": "a"}])
    recipe.append([{"x": 4, "y": 3, "later": "b"}])
    recipe.publish(case, refusal=_constraint(requirement))


_INVARIANT: Final = '{"expression":{"expression":"y > 3"}}'

for _chapter, _key, _rule, _ids_of in (
    (INVARIANTS, "delta.invariants", _INVARIANT, "INV-005 INV-007"),
    (GENERATED, "delta.generationExpression", "x * 2", "GEN-004"),
):
    _chapter.define(
        "write-broken-later",
        "A rule of a column holds as before when another is added",
        f"{_ids_of} SCH-037",
        partial(_rule_stays, _key, _rule, _ids_of.split()[0]),
    )


def _overflowing(start: int, step: int, case: CaseWriter) -> None:
    recipe = Recipe(_numbered(start, step), features=_LISTED)
    recipe.append_numbered("k", *_ids(1)).append_refused(_ids(2, 3, 4))
    recipe.publish(case, refusal=_constraint("IDN-015"))


for _name, _start, _step in (("up", 2**63 - 2, 1), ("down", -(2**63) + 3, -2)):
    IDENTITY.define(
        f"write-overflow-{_name}",
        "Rows are refused whose identity values would be no longs",
        "IDN-015",
        partial(_overflowing, _start, _step),
    )


@VERSIONS.case("write-identity-6", "WVER-005 IDN-012")
def _identity_6(case: CaseWriter) -> None:
    """Writer version 6 gives values to identity columns."""
    schema = _numbered(1, 2, highWaterMark=3)
    recipe = Recipe(schema, protocol=Protocol(1, 6)).append([{"k": 1, "id": 1}, {"k": 3, "id": 2}])
    recipe.given().append_numbered("k", *_ids(3)).publish(case)


def _generated(version: int, row: str, case: CaseWriter) -> None:
    metadata = {"delta.generationExpression": "x * 2"}
    schema = struct(field("x", "long"), field("y", "long", metadata=metadata))
    recipe = Recipe(schema, protocol=Protocol(1, version)).append([{"x": 1, "y": 2}]).given()
    recipe.append([{"x": 2, "y": 4}]).append([{"x": 3, "y": 5}])
    recipe.publish(case, refusal=_constraint(row))


for _version, _row in ((4, "WVER-003"), (6, "WVER-007")):
    VERSIONS.define(
        f"write-generated-{_version}",
        f"Writer version {_version} refuses values that are not as generated",
        _row if _version == 4 else f"{_row} WVER-003 GEN-004",
        partial(_generated, _version, _row),
    )


def _mapped(version: int, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), _MAPPED, protocol=Protocol(2, version)).append(pairs(1)).given()
    recipe.append(pairs(2)).rename_column("name", "label").append([{"id": 3, "label": "c"}])
    recipe.add_column(field("n", "long")).append([{"id": 4, "label": "d", "n": 4}])
    recipe.drop_column("label").append([{"id": 5, "n": 5}]).publish(case)


for _version, _rows in ((5, "WVER-004 CM-013"), (6, "WVER-007 WVER-004 CM-013")):
    VERSIONS.define(
        f"write-mapped-{_version}",
        f"Writer version {_version} maps columns",
        _rows,
        partial(_mapped, _version),
    )


@VERSIONS.case("write-append-only-7", "WVER-006 APP-002", since="2025")
def _unlisted(case: CaseWriter) -> None:
    """At writer version 7 a property alone binds nobody."""
    properties = {"delta.appendOnly": "true"}
    protocol = Protocol(1, 7, None, ("domainMetadata",))
    recipe = Recipe(PAIR, (), properties, protocol=protocol).append(pairs(1, 2)).given()
    recipe.delete(compare("id", "=", 1, "long")).append(pairs(3))
    refused = Refusal("constraint", "commit", "WVER-006", of=("delete",))
    recipe.publish(
        case,
        contested=[
            ("carried-out", "the property is that of a feature that is not listed", None),
            ("refused", "no clause has a writer delete rows", refused),
        ],
    )


@CHECKS.case("write-add-7", "CHK-007 TF-015")
def _add_7(case: CaseWriter) -> None:
    """At writer version 7 a constraint comes beside features that are listed."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}, ("appendOnly",))
    recipe.append(pairs(1)).keep("enable_feature", feature="checkConstraints")
    recipe.keep("add_constraint", name="positive", expression="id > 0").append(pairs(2))
    recipe.append(pairs(-3)).publish(case, refusal=_constraint("CHK-006"))


@CHECKS.case("write-unknown-function", "CHK-005 CHK-006")
def _unknown_function(case: CaseWriter) -> None:
    """Rows are refused where nobody can tell whether they obey a constraint."""
    properties = {"delta.constraints.odd": "from_another_world(id) > 0"}
    recipe = Recipe(PAIR, (), properties, ("checkConstraints",)).append(pairs(1, 2)).given()
    recipe.append(pairs(3)).publish(case, refusal=Refusal("unsupported", "commit", "CHK-006"))


_METADATA: Final = b"\x01\x00\x00"
"""Version 1, a dictionary of no names."""

_VARIANTS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (_METADATA, b"\x00"),  # null
    (_METADATA, b"\x04"),  # true
    (_METADATA, b"\x0c\x2a"),  # the byte 42
    (_METADATA, b"\x15delta"),  # a short string
    (_METADATA, b"\x03\x02\x00\x02\x03\x0c\x01\x00"),  # [1, null]
    (b"\x01\x01\x00\x01k", b"\x02\x01\x00\x00\x01\x04"),  # {"k": true}
)
"""Metadata and value of variants, by the encoding of variants in Parquet."""


def _variants(*numbers: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in numbers:
        metadata, value = _VARIANTS[number % len(_VARIANTS)]
        found.append({"id": number, "v": {"metadata": metadata, "value": value}})
    return found


_VARIANT: Final = struct(id="long", v="variant")


@VARIANT.case("write-variants", "VAR-003")
def _write_variants(case: CaseWriter) -> None:
    """Variants are written, and kept through rewrites."""
    recipe = Recipe(_VARIANT, features=("variantType",)).append(_variants(*range(6)))
    recipe.append([{"id": 9, "v": None}]).delete(is_in("id", [1, 4], "long"))
    recipe.update({"id": 100}, compare("id", "=", 5, "long")).keep("optimize")
    recipe.checkpoint().append(_variants(8)).publish(case)


@VARIANT.case("write-variants-mapped", "CM-013 VAR-003")
def _write_mapped(case: CaseWriter) -> None:
    """Files know a variant by the name that mapping gives it."""
    recipe = Recipe(_VARIANT, (), _MAPPED, ("variantType", "columnMapping")).append(_variants(2, 5))
    recipe.rename_column("v", "w").update({"id": 9}, compare("id", "=", 2, "long")).publish(case)


@VARIANT.case("write-unasked", "VAR-001")
def _write_unasked(case: CaseWriter) -> None:
    """A table with a variant column lists the feature, asked for or not."""
    Recipe(_VARIANT, rows=_variants(2, 3)).publish(case, contested=unasked("VAR-001"))


@VARIANT.case("write-variants-within", "VAR-003")
def _write_within(case: CaseWriter) -> None:
    """Variants are written within an array."""
    values = [each["v"] for each in _variants(2, 5)]
    recipe = Recipe(struct(id="long", l=array("variant")), features=("variantType",))
    recipe.append([{"id": 1, "l": [*values, None]}, {"id": 2, "l": None}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@VARIANT.case("write-variants-in-structs", "VAR-003")
def _write_in_structs(case: CaseWriter) -> None:
    """Variants are written within structs and maps."""
    pair = struct(v="variant", n="long")
    schema = struct(id="long", s=struct(p=pair, m=map_of("string", "variant")))
    values = [each["v"] for each in _variants(*range(6))]
    recipe = Recipe(schema, features=("variantType",))
    recipe.append(
        [
            {"id": 1, "s": {"p": {"v": values[3], "n": 7}, "m": {"a": values[2], "b": None}}},
            {"id": 2, "s": {"p": None, "m": None}},
            {"id": 3, "s": None},
            {"id": 4, "s": {"p": {"v": None, "n": 8}, "m": {}}},
            {"id": 5, "s": {"p": {"v": values[5], "n": None}, "m": {"c": values[4]}}},
        ]
    )
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@DEFAULTS.case("write-merge-null", "DFT-006")
def _merge_null(case: CaseWriter) -> None:
    """A null that a merge brings is a value, and stays null."""
    plain, named = PAIR.fields
    schema = struct(plain, replace(named, metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe(schema, features=("allowColumnDefaults",)).append(pairs(1, 2))
    recipe.merge([{"id": 2, "name": None}, {"id": 5, "name": None}], SAME_ID, *UPSERT)
    recipe.publish(case)


@DEFAULTS.case("write-update-null", "DFT-006")
def _update_null(case: CaseWriter) -> None:
    """A null that a row has stays null where another column is set."""
    plain, named = PAIR.fields
    schema = struct(plain, replace(named, metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe(schema, features=("allowColumnDefaults",))
    recipe.append([{"id": 1, "name": None}, {"id": 2, "name": "b"}])
    recipe.update({"id": 9}, compare("id", "=", 1, "long")).publish(case)


@DEFAULTS.case("write-merge-with-default", "DFT-005 CDC-012")
def _merge_default(case: CaseWriter) -> None:
    """A row that a merge inserts gets the default, in its record too."""
    plain, named = PAIR.fields
    schema = struct(plain, replace(named, metadata={"CURRENT_DEFAULT": "'none'"}))
    feed = {"delta.enableChangeDataFeed": "true"}
    recipe = Recipe(schema, (), feed, ("allowColumnDefaults", "changeDataFeed"))
    recipe.append(pairs(1, 2))
    clauses = (MergeClause("matched", "delete"), MergeClause("not_matched", "insert"))
    stored: list[dict[str, Any]] = [{"id": 5, "name": "none"}, {"id": 2, "name": None}]
    recipe.merge([{"id": 5}, {"id": 2}], SAME_ID, *clauses, stored=stored).publish(case)


@DEFAULTS.case("write-variant-default", "DFT-010")
def _variant_default(case: CaseWriter) -> None:
    """A variant that is left out is null, and has no other default."""
    recipe = Recipe(_VARIANT, features=("variantType", "allowColumnDefaults"))
    recipe.append(_variants(2)).append([{"id": 7}])
    recipe.keep("set_default", column="v", expression="parse_json('1')")
    recipe.publish(case, refusal=_constraint("DFT-010"))


_SHREDDING: Final = ("variantType", "variantShredding")


@SHREDDED.case("write-unshredded", "SHRED-002 VAR-003")
def _unshredded(case: CaseWriter) -> None:
    """Variants are not shredded where the table does not ask for it."""
    recipe = Recipe(_VARIANT, features=_SHREDDING).append(_variants(*range(6)))
    recipe.delete(compare("id", "=", 3, "long")).keep("optimize").publish(case)


@FEATURES.case("write-upgrade", "TF-012 TF-008 TF-015", features=("deletionVectors",))
def _upgrade(case: CaseWriter) -> None:
    """An upgrade lists what versions of before may have used."""
    properties = {"delta.constraints.positive": "id > 0", "delta.enableChangeDataFeed": "true"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, 4)).append(pairs(1, 2)).given()
    recipe.set_properties({"delta.enableChangeDataFeed": "false"})
    recipe.keep("enable_feature", feature="deletionVectors").append(pairs(3))
    recipe.append(pairs(-4)).publish(case, refusal=_constraint("CHK-006"))


@FEATURES.case("write-upgrade-locked", "TF-012 APP-001", features=("deletionVectors",))
def _upgrade_locked(case: CaseWriter) -> None:
    """An upgrade lists appendOnly of a table that was append-only."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}, protocol=Protocol(1, 2))
    recipe.append(pairs(1, 2)).given().set_properties({"delta.appendOnly": "false"})
    recipe.keep("enable_feature", feature="deletionVectors").append(pairs(3)).publish(case)


@FEATURES.case(
    "write-upgrade-mapped", "TF-012 TF-018 TF-008", features=("columnMapping", "deletionVectors")
)
def _upgrade_mapped(case: CaseWriter) -> None:
    """An upgrade lists the mapping of columns for readers and for writers."""
    recipe = Recipe(PAIR, (), _MAPPED, protocol=Protocol(2, 5)).append(pairs(1, 2)).given()
    recipe.keep("enable_feature", feature="deletionVectors").append(pairs(3)).publish(case)


_TIMED: Final = {"delta.enableInCommitTimestamps": "true"}
_OFF: Final = dict.fromkeys(_TIMED, "false")
_AHEAD: Final = 4_102_444_800_000
"""2100-01-01, in ms since the epoch: in the future of every test run."""


@CLOCK.case("write-behind", "ICT-008 ICT-009")
def _behind(case: CaseWriter) -> None:
    """A commit carries a later time than the one before under any clock."""
    recipe = Recipe(PAIR, (), _TIMED, ("inCommitTimestamp",), start=_AHEAD).append(pairs(1))
    recipe.given().append(pairs(2)).delete(compare("id", "=", 1, "long")).append(pairs(3, 4))
    recipe.keep("optimize").update({"name": "x"}, compare("id", "=", 2, "long"))
    recipe.overwrite(pairs(7), compare("id", ">=", 3, "long")).restore(4).publish(case)


@CLOCK.case("write-alter", "ICT-005 ICT-006 ICT-007 ICT-009")
def _altered(case: CaseWriter) -> None:
    """Changes of columns and properties and a restore carry later times."""
    recipe = Recipe(PAIR, (), _TIMED, ("inCommitTimestamp",)).append(pairs(1))
    recipe.add_column(field("later", "string")).set_properties({"team": "tables"})
    recipe.append([{"id": 2, "name": "n2", "later": "x"}]).restore(1).append(pairs(3))
    recipe.set_transaction("app", 1).publish(case)


@CLOCK.case("write-enable", "ICT-005 ICT-010 ICT-011 ICT-012")
def _enable(case: CaseWriter) -> None:
    """A table tells since when its commits carry their time, again if anew."""
    recipe = Recipe(PAIR).append(pairs(1)).keep("enable_feature", feature="inCommitTimestamp")
    recipe.set_properties(_TIMED).append(pairs(2)).append(pairs(3)).set_properties(_OFF)
    recipe.append(pairs(4)).set_properties(_TIMED).append(pairs(5)).publish(case)


@CLOCK.case("write-enable-behind", "ICT-010 ICT-011 ICT-012")
def _enable_behind(case: CaseWriter) -> None:
    """The first time of a commit is above that of the file before it."""
    recipe = Recipe(PAIR, features=("inCommitTimestamp",)).append(pairs(1)).given()
    for version in (0, 1):
        case.file_time(f"_delta_log/{version:020d}.json", _AHEAD + version)
    recipe.set_properties(_TIMED).append(pairs(2)).publish(case)


@CLOCK.case("write-enable-behind-checkpoint", "ICT-010 ICT-011 ICT-012")
def _enable_behind_checkpoint(case: CaseWriter) -> None:
    """The first time is above that of the file before it behind a checkpoint."""
    recipe = Recipe(PAIR, features=("inCommitTimestamp",)).append(pairs(1)).checkpoint().given()
    for version in (0, 1):
        case.file_time(f"_delta_log/{version:020d}.json", _AHEAD + version)
    recipe.set_properties(_TIMED).append(pairs(2)).publish(case)


@CLOCK.case("write-enable-again-behind", "ICT-010 ICT-011 ICT-012")
def _enable_again_behind(case: CaseWriter) -> None:
    """Times turned on again begin above the file before, and stay restored."""
    recipe = Recipe(PAIR, (), _TIMED, ("inCommitTimestamp",)).append(pairs(1))
    recipe.set_properties(_OFF).append(pairs(2)).given()
    for version in (2, 3):
        case.file_time(f"_delta_log/{version:020d}.json", _AHEAD + version)
    recipe.set_properties(_TIMED).append(pairs(3)).restore(1).publish(case)


_TRACKED: Final = ("rowTracking", "domainMetadata")


@TRACKING.case("write-supported", "RT-002 RT-004 RT-028 RT-039")
def _supported(case: CaseWriter) -> None:
    """Files have no hidden columns where row tracking is supported alone."""
    recipe = Recipe(PAIR, features=_TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.update({"name": "x"}, compare("id", "<=", 2, "long"))
    recipe.delete(compare("id", "=", 3, "long")).keep("optimize").append(pairs(5)).publish(case)


@TRACKING.case("write-created", "RT-042")
def _created(case: CaseWriter) -> None:
    """A table that tracks rows from the start names its hidden columns."""
    enabled = {"delta.enableRowTracking": "true"}
    Recipe(PAIR, (), enabled, _TRACKED).set_transaction("app", 1).publish(case)


def _replaced(properties: Mapping[str, str], features: tuple[str, ...], case: CaseWriter) -> None:
    enabled = {"delta.enableRowTracking": "true", **properties}
    recipe = Recipe(PAIR, (), enabled, (*_TRACKED, *features)).append(pairs(1, 2, 3))
    other = struct(field("key", "string"), field("id", "long"))
    recipe.replace(other, [], [{"key": "a", "id": 7}, {"key": "b", "id": 8}])
    recipe.update({"key": "c"}, compare("id", "=", 8, "long"))
    recipe.replace(other, ["key"], []).append([{"key": "d", "id": 9}]).publish(case)


for _slug, _mapping in (
    ("", {}),
    ("-mapped", _MAPPED),
    ("-mapped-by-id", {"delta.columnMapping.mode": "id"}),
):
    TRACKING.define(
        f"write-replace{_slug}",
        f"A {'mapped ' if _mapping else ''}table that is replaced names its hidden columns"
        + (", mode id" if _slug.endswith("id") else ""),
        "RT-042 RT-047 RT-048 RT-036",
        partial(_replaced, _mapping, ("columnMapping",) if _mapping else ()),
    )


@TRACKING.case("write-disabled", "RT-002 RT-004 RT-028 RT-039")
def _disabled(case: CaseWriter) -> None:
    """Files have no hidden columns once row tracking is off again."""
    enabled = {"delta.enableRowTracking": "true"}
    recipe = Recipe(PAIR, (), enabled, _TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.update({"name": "x"}, compare("id", "=", 1, "long"))
    recipe.set_properties({"delta.enableRowTracking": "false"})
    recipe.update({"name": "y"}, compare("id", "<=", 2, "long")).keep("optimize")
    recipe.append(pairs(5)).publish(case)


_HIDDEN: Final = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_version",
}


def _hidden(name: str, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), _HIDDEN, _TRACKED).append(pairs(1, 2)).given()
    recipe.add_existing_column_refused(field(name, "long"))
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "RT-043"))


for _slug, _column in (("row-ids", "_row_id"), ("versions", "_version")):
    TRACKING.define(
        f"write-column-of-{_slug}",
        "No column of the table has the name of a hidden one",
        "RT-043",
        partial(_hidden, _column),
    )


@MAPPING.case("write-name-again", "CM-014 CM-019 CM-020 CM-022")
def _name_again(case: CaseWriter) -> None:
    """A column of a name that was dropped is another column."""
    recipe = Recipe(PAIR, (), _MAPPED, ("columnMapping",)).append(pairs(1, 2))
    recipe.add_column(field("x", "long")).append([{"id": 3, "name": "c", "x": 5}])
    recipe.drop_column("x").add_column(field("x", "long"))
    recipe.append([{"id": 4, "name": "d", "x": 6}]).keep("optimize").publish(case)
