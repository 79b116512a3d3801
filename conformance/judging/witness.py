"""Another engine that reads what recipes leave, beside the reader that judges.

See the section "Write recipes" of ``docs/formats.md``. A witness decides nothing: where it
reads otherwise than the reference implementation, or refuses what it claims to read, people have
to find out who is right.
"""

from __future__ import annotations

from pathlib import Path

from conformance.adapter import Adapter, Claims, Description, Ok, Refused, Scan
from conformance.base.limits import InProcessLimit
from conformance.judging.answers import plain_answer
from conformance.judging.compare import compare_rows
from conformance.judging.recipes.needs import features_of_readers
from reference_impl import DeltaError, Snapshot, Table, read_table


class Witness:
    """An implementation that reads tables which another one wrote.

    Attributes:
        name: what its adapter calls it.
        limit: ends a request to an adapter that runs here.
    """

    def __init__(
        self, adapter: Adapter, description: Description, limit: InProcessLimit | None = None
    ) -> None:
        """Take an adapter, what it says of itself, and what ends a request to it."""
        self._adapter, self.limit = adapter, limit or InProcessLimit()
        self.name, self._claims = description.name, description.claims

    def disagreement(self, table: Path) -> str | None:
        """Read a table with it, and compare.

        Args:
            table: the root; the reference implementation reads the table.

        Returns:
            ``""`` where it reads the same rows, else the difference or its error; ``None`` where it
            was not asked, because it does not claim to read such tables.
        """
        try:
            snapshot = Table(table).snapshot()
        except DeltaError:
            return None  # nothing was written, or what only a catalog could say
        if not claims_to_read(self._claims, snapshot):
            return None
        try:
            with self.limit:
                answer = plain_answer(self._adapter.run(Scan(str(table))))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  whatever it raises is reported
            return f"raises {type(error).__name__}: {error}"
        match answer:
            case Refused(_, _, message):
                return f"refuses: {message}"
            case Ok(payload):
                found = compare_rows(read_table(table), payload)
                return "" if found is None else f"reads otherwise: {found.summary}"

    def close(self) -> None:
        """Release the adapter."""
        self._adapter.close()


def claims_to_read(claims: Claims, snapshot: Snapshot) -> bool:
    """Return whether an implementation says that it reads tables of a protocol and a schema."""
    protocol = snapshot.protocol
    if protocol.min_reader_version > claims.reader_version:
        return False
    if '"void"' in snapshot.metadata.schema_string:
        return False  # a type of the later text, which no feature announces
    return features_of_readers(protocol) <= claims.reader_features
