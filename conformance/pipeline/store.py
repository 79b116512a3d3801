"""Delta tables that a job keeps: rows come in exactly once, and columns are only ever added.

See "Transaction Identifiers" and "Schema" of ``docs/pipeline.md``. The results of a job are
small, so the reference implementation writes them: one commit with the rows and with the progress
of the part of the job. A commit that is there already is not repeated, so a job that was killed
can do its last step again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from conformance.base.faults import UnusableError
from reference_impl import DeltaError, Table, read_table
from reference_impl.errors import CommitConflict, NotFoundError
from reference_impl.shown import shown_location
from reference_impl.write.rows.operations import append

_ATTEMPTS: Final = 20


def columns(names: str) -> pa.Schema:
    """Return the columns that a text names: ``name`` of strings, else ``name:type`` as Arrow's.

    ``texts`` are lists of strings.
    """
    pairs = [name.partition(":") for name in names.split()]
    texts = {"": pa.string(), "texts": pa.list_(pa.string())}
    return pa.schema([(name, texts.get(of) or pa.type_for_alias(of)) for name, _, of in pairs])


class StoreError(UnusableError):
    """A table of a store cannot be read or written."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One table of a store.

    Attributes:
        location: a path or a URL.
        schema: the columns that this kit knows; all are nullable.
    """

    location: str
    schema: pa.Schema

    def add(
        self,
        rows: Iterable[Mapping[str, Any]],
        app: str,
        version: int = 0,
        place: str | None = None,
    ) -> bool:
        """Add rows in one commit, unless the same progress is recorded already.

        Args:
            rows: their columns are among those of the schema; what is missing is null.
            app: who brings them; the ``appId`` of the commit's transaction identifier.
            version: how far that is.
            place: the column that says, of each row, how far it is itself, where progress that
                is recorded may be a part of this; rows at or before it are left out.

        Returns:
            whether progress was made.

        Raises:
            StoreError: the table cannot be read or written.
        """
        given = [dict(row) for row in rows]
        for _ in range(_ATTEMPTS):
            try:
                snapshot = self._open().snapshot()
                recorded = snapshot.txns.get(app)
                if recorded is not None and recorded.version >= version:
                    return False
                if recorded is not None and place is not None:
                    given = [row for row in given if row[place] > recorded.version]
                append(snapshot, pa.Table.from_pylist(given, schema=self.schema), (app, version))
            except CommitConflict:
                continue  # another writer made progress, or changed the schema: look again
            except (DeltaError, OSError) as error:
                raise StoreError(f"{shown_location(self.location)}: {error}") from error
            return True
        raise StoreError(f"{shown_location(self.location)}: others are always faster")

    def progress(self) -> dict[str, int]:
        """Return what is recorded: who added rows, and how far each is.

        Raises:
            StoreError: the table cannot be read.
        """
        try:
            txns = Table(self.location).snapshot().txns
        except NotFoundError:
            return {}
        except (DeltaError, OSError) as error:
            raise StoreError(f"{shown_location(self.location)}: {error}") from error
        return {app: txn.version for app, txn in txns.items()}

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows, with the columns that this kit knows; those of a later kit are left out.

        Raises:
            StoreError: the table cannot be read.
        """
        names = list(self.schema.names if columns is None else columns)
        try:
            there = {field.name for field in Table(self.location).snapshot().schema.fields}
            found = read_table(self.location, columns=[name for name in names if name in there])
        except NotFoundError:
            return self.schema.empty_table().select(names)
        except (DeltaError, OSError) as error:
            raise StoreError(f"{shown_location(self.location)}: {error}") from error
        for name in names:
            if name not in there:  # an earlier kit made the table
                kind = self.schema.field(name).type
                found = found.append_column(name, pa.nulls(found.num_rows, kind))
        return found.select(names).cast(pa.schema([self.schema.field(name) for name in names]))

    def _open(self) -> Table:
        """Open the table; it is made, or gets the columns that it lacks."""
        table = Table(self.location)
        try:
            there = {field.name for field in table.snapshot().schema.fields}
        except NotFoundError:
            table.create(self.schema)
            return table
        missing = [field for field in self.schema if field.name not in there]
        if missing:
            table.add_columns(pa.schema(missing))
        return table
