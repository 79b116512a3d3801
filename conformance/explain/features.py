"""What the kit holds of a table feature: its clauses, the code, the checks and the cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from conformance.explain.sources import SourceLine, lines_naming
from conformance.items.items import Item
from conformance.requirements.registry import Requirement
from schemas.features import Feature


@dataclass(frozen=True, slots=True)
class FeatureExplained:
    """All that is known of a table feature.

    Attributes:
        feature: its entry, with what it requires and what asks for it.
        rows: the requirements that belong to it, which have an explanation each.
        code: where the reference implementation obeys them.
        checks: where the audit reports them.
        cases: the cases whose tables have it.
    """

    feature: Feature
    rows: tuple[Requirement, ...]
    code: tuple[SourceLine, ...]
    checks: tuple[SourceLine, ...]
    cases: tuple[str, ...]

    @property
    def statements(self) -> Mapping[str, str]:
        """Requirement to level, role and statement."""
        return {
            row.id: f"{row.level} of {row.role}: {' '.join(row.statement.split())}"
            for row in self.rows
        }

    def as_document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "feature": asdict(self.feature),
            "requirements": dict(self.statements),
            "code": [asdict(each) for each in self.code],
            "checks": [asdict(each) for each in self.checks],
            "cases": list(self.cases),
        }


def explain_feature(
    feature: Feature, registry: Iterable[Requirement], items: Iterable[Item]
) -> FeatureExplained:
    """Gather what is known of a table feature."""
    rows = tuple(row for row in registry if row.feature == feature.name)

    def naming(folder: str) -> tuple[SourceLine, ...]:
        return tuple(dict.fromkeys(each for row in rows for each in lines_naming(row.id, folder)))

    cases = (each.id.rpartition("/")[0] for each in items if feature.name in each.features)
    return FeatureExplained(
        feature,
        rows,
        naming("reference_impl"),
        naming("conformance/audit"),
        tuple(dict.fromkeys(cases)),
    )
