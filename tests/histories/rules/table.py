"""Operations on the table as a whole: what it is set to, its shape, its age."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from draws import FEATURES, PROPERTIES, checks
from hypothesis import strategies as st
from objections import (
    ACTIVATIONS,
    CONSTRAINT,
    is_mapped,
    needed_by,
    still_used,
)

from conformance.adapters.sql.text import SPARK, render
from generators.oracle.delta_schema import Array, DataType, Field, Struct
from generators.oracle.model import Oracle
from generators.oracle.operations import (
    NoRowChange,
    Restore,
    SetDomain,
    SetProperties,
    SetTransaction,
    UnsetProperties,
)
from reference_impl import DeltaError, Table
from reference_impl.model.features import WRITABLE_FEATURES
from reference_impl.write.checkpoints.write import Style
from rules.columns import ColumnRules
from rules.operation import operation

STYLES: Mapping[str, Style] = {
    "classic": Style(),
    "multi-part": Style(parts=2),
    "v2 json with sidecars": Style("v2", "json", 2),
    "v2 parquet": Style("v2", "parquet"),
}
_WRITTEN = sorted(WRITABLE_FEATURES)
_MAPPING = "delta.columnMapping.mode"
_LONG_AGO = 1_500_000_000
"""In 2017, in seconds since the epoch."""


class TableRules(ColumnRules):
    """Properties, features, constraints, domains; optimize, restore, vacuum, the log."""

    # What it is set to.

    @operation(3, name=st.sampled_from(sorted({**FEATURES, **PROPERTIES})))
    def switch_on(self, name: str) -> None:
        wanted = {**FEATURES, **PROPERTIES}[name]
        if _MAPPING in wanted and is_mapped(self.oracle.properties):
            return
        self.attempt(lambda: self.table.set_properties(wanted), SetProperties(wanted))

    @operation(name=st.sampled_from(sorted(FEATURES)))
    def switch_off(self, name: str) -> None:
        [(key, _)] = FEATURES[name].items()
        off = {key: {"delta.checkpointPolicy": "classic", _MAPPING: "none"}.get(key, "false")}
        unmaps = key == _MAPPING and is_mapped(self.oracle.properties)
        self.attempt(
            lambda: self.table.set_properties(off),
            SetProperties(off),
            objection="files rely on the mapping" if unmaps else None,
        )

    @operation(name=st.sampled_from(sorted({**FEATURES, **PROPERTIES})))
    def unset_properties(self, name: str) -> None:
        names = tuple({**FEATURES, **PROPERTIES}[name])
        unmaps = _MAPPING in names and _MAPPING in self.oracle.properties
        self.attempt(
            lambda: self.table.unset_properties(names),
            UnsetProperties(names),
            objection="files rely on the mapping" if unmaps else None,
        )

    @operation(name=st.sampled_from(_WRITTEN))
    def enable_feature(self, name: str) -> None:
        objection = None
        if name == "clustering" and self.oracle.partition_columns:
            objection = "the table is partitioned"
        if name == "deletionVectors" and "icebergCompatV1" in self._active():
            objection = "version 1 of Iceberg compatibility goes with no vectors"
        done = self.attempt(
            lambda: self.table.set_properties({}, features=[name]),
            lambda _: None,
            objection=objection,
        )
        assert not done or name in self.supported()

    def _active(self) -> list[str]:
        held = self.oracle.properties
        return [name for name, key in ACTIVATIONS.items() if held.get(key) == "true"]

    @operation(2, data=st.data())
    def drop_feature(self, data: st.DataObject) -> None:
        held = self.supported()
        some = sorted(held & set(_WRITTEN))
        name = data.draw(st.sampled_from((*some, *some, "deletionVectors", "clustering")))
        objection = None
        if name not in held:
            objection = "it is not there"
        elif needed_by(name, held):
            objection = f"{needed_by(name, held)} needs it"
        elif still_used(name, self.oracle):
            objection = "it is in use"

        def work(oracle: Oracle) -> None:
            oracle.properties.pop(ACTIVATIONS.get(name, ""), None)
            if name == "typeWidening":
                oracle.change_schema(_forgetful(oracle.schema))

        done = self.attempt(
            lambda: self.table.drop_feature(name),
            work,
            objection=objection,
            # Whether names, vectors and tombstones are left is for the files to say.
            free=name in ("columnMapping", "deletionVectors"),
            clustered=() if name == "clustering" else None,
        )
        assert not done or name not in self.supported()

    @operation(
        3,
        name=st.sampled_from(("c", "D")),
        data=st.data(),
        wrong=st.sampled_from((False, False, False, True)),
    )
    def constraint(self, name: str, data: st.DataObject, wrong: bool) -> None:
        """Add a constraint that is not there, drop one that is, or the wrong one of the two."""
        key = f"{CONSTRAINT}{name.lower()}"
        held = key in self.oracle.properties
        if held != wrong:
            self.attempt(
                lambda: self.table.drop_constraint(name),
                UnsetProperties((key,)),
                objection=None if held else "there is none",
            )
            return
        tree = data.draw(checks(self.schema))
        text = render(tree, SPARK)
        self.rules[text] = tree
        self.attempt(
            lambda: self.table.add_constraint(name, text),
            SetProperties({key: text}),
            objection="there is one" if held else None,
            new_rules=[text],
        )

    @operation(application=st.sampled_from("pq"), number=st.integers(0, 9))
    def set_transaction(self, application: str, number: int) -> None:
        self.attempt(
            lambda: self.table.set_transaction(application, number),
            SetTransaction(application, number),
        )

    @operation(
        domain=st.sampled_from(("one", "two", "delta.three")),
        text=st.sampled_from(("{}", "t", "", None)),
    )
    def set_domain(self, domain: str, text: str | None) -> None:
        objection = None
        if domain.startswith("delta."):
            objection = "it is the system's"
        elif "domainMetadata" not in self.supported():
            objection = "there are no domains"
        self.attempt(
            lambda: self.table.set_domain(domain, text),
            SetDomain(domain, text),
            objection=objection,
        )

    # Shape and age.

    @operation(2, purge=st.booleans())
    def optimize(self, purge: bool) -> None:
        self.attempt(lambda: self.table.optimize(purge_only=purge), NoRowChange())

    @operation(2, data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version = data.draw(st.integers(0, self.version))
        then = self.oracle.versions[version]
        unmaps = is_mapped(self.oracle.properties) and not is_mapped(then.properties)
        other = then.schema != self.schema
        done = self.attempt(
            lambda: self.table.restore(version),
            Restore(version),
            objection="files rely on the mapping" if unmaps else None,
            # What was vacuumed or cleaned may be gone; whether the table that only grows is the
            # one of now or the one of then is left open.
            free=version < self.oldest
            or "true"
            in (of.get("delta.appendOnly") for of in (self.oracle.properties, then.properties)),
            clustered=self.clusterings[version],
        )
        self.tally["restore of another schema"] += done and other

    @operation(4, data=st.data())
    def checkpoint(self, data: st.DataObject) -> None:
        second = "v2Checkpoint" in self.supported()
        kind = "v2" if second else ("classic", "multi-part")
        able = [name for name in sorted(STYLES) if name.startswith(kind)]
        style = data.draw(st.sampled_from((*able, *able, *sorted(STYLES))))
        # The feature is what checkpoints of the second kind need, and what rules parts out.
        allowed = style == "classic" or second == style.startswith("v2")
        try:
            self.table.checkpoint(STYLES[style])
        except DeltaError:
            done = False
        else:
            done = True
        assert done == allowed, style
        self.tally[f"checkpoint {style}"] += done
        self.compare(self.table.snapshot(self.version))
        self.audit()

    def _commits(self) -> list[Path]:
        listed = (Path(self.location) / "_delta_log").glob("*.json")
        return sorted(path for path in listed if path.stem.isdecimal())

    @operation(data=st.data())
    def compact_log(self, data: st.DataObject) -> None:
        held = [int(path.stem) for path in self._commits()]
        if len(held) > 1:
            start = data.draw(st.integers(held[0], held[-2]))
            self.table.compact_log(start, data.draw(st.integers(start + 1, held[-1])))
            self.compare(self.table.snapshot(self.version))
            self.audit()

    @operation(how=st.sampled_from(("plain", "dry", "at once")))
    def vacuum(self, how: str) -> None:
        brief = "delta.deletedFileRetentionDuration" in self.oracle.properties
        if how == "at once":
            self.table.vacuum(retention=0, unsafe=True)
        else:
            self.table.vacuum(dry_run=how == "dry")
        if how == "at once" or (brief and how == "plain"):
            self.oldest = self.version
        self.compare(self.table.snapshot(self.version))
        self.audit()

    @operation(aged=st.booleans())
    def clean_log(self, aged: bool) -> None:
        if aged:
            for number, path in enumerate(self._commits()):
                os.utime(path, (_LONG_AGO + number, _LONG_AGO + number))
        before = self._commits()
        self.table.clean_log()
        gone = [int(path.stem) for path in before if not path.exists()]
        self.oldest = max([self.oldest, *(version + 1 for version in gone)])
        self.traces.after(None, Table(self.location).snapshot(), None, "cleanup")
        for version in range(self.oldest, self.version + 1):
            self.compare(self.table.snapshot(version))
        self.audit()

    @operation(2)
    def generate_manifest(self) -> None:
        adds = self.table.snapshot().adds()
        vectors = adds.num_rows - adds.column("deletionVector").null_count
        try:
            manifests = self.table.generate_manifest()
        except DeltaError:
            assert vectors or is_mapped(self.oracle.properties)
            return
        assert not vectors
        assert not is_mapped(self.oracle.properties)
        lines = [
            line
            for path in manifests
            for line in (Path(self.location) / path).read_text().splitlines()
        ]
        assert len(lines) == len(set(lines)) == adds.num_rows
        counts = [pq.read_metadata(_local(line)).num_rows for line in lines]
        assert sum(counts) == len(self.oracle.rows())


def _local(location: str) -> str:
    return location.removeprefix("file://").removeprefix("file:")


def _forgetful(of: Struct) -> Struct:
    """Return a schema that does not say which types its columns had."""

    def inside(kind: DataType) -> Any:
        match kind:
            case Struct():
                return _forgetful(kind)
            case Array(element, contains_null):
                return Array(inside(element), contains_null)
            case _:
                return kind

    return Struct(
        tuple(
            Field(
                each.name,
                inside(each.type),
                each.nullable,
                {k: v for k, v in each.metadata.items() if k != "delta.typeChanges"},
            )
            for each in of
        )
    )
