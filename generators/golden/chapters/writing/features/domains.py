"""Cases of writing: domains are kept, set and removed."""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import FEATURE_DROPPED, PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.writing.starts import DESCRIBED, broken_rule
from generators.oracle.delta_schema import field, struct
from generators.oracle.operations import SetComment

DOMAINS: Final = Chapter("domain-metadata", since="2025")


@DOMAINS.case("write-domains", "DOM-014 CKC-007 CKC-008")
def _domains(case: CaseWriter) -> None:
    """Domains are set, changed and removed, and survive a checkpoint."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).set_domain("mine", '{"a":1}')
    recipe.append(pairs(1)).set_domain("other", "text").set_domain("mine", '{"a":2}')
    recipe.set_domain("gone", "x").checkpoint().set_domain("gone", None).append(pairs(2))
    recipe.checkpoint().publish(case)


@DOMAINS.case("write-unknown-kept", "DOM-014 CKC-007")
def _domains_kept(case: CaseWriter) -> None:
    """Domains that a writer does not know are kept."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":[1]}').set_domain("theirs", "").given()
    recipe.append(pairs(2)).checkpoint().append(pairs(3)).publish(case)


@DOMAINS.case("write-kept-when-altered", "DOM-014 DOM-007")
def _domains_kept_when_altered(case: CaseWriter) -> None:
    """Domains are kept when the table is altered and changed."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1, 2, 3))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":[1]}').set_domain("theirs", "{}").given()
    recipe.set_properties({"delta.logRetentionDuration": "interval 60 days"})
    recipe.add_column(field("more", "string")).delete(compare("id", "=", 1, "long"))
    recipe.update({"more": "x"}, compare("id", "=", 2, "long")).publish(case)


@DOMAINS.case("write-kept-when-rearranged", "DOM-014 DOM-007")
def _domains_kept_when_rearranged(case: CaseWriter) -> None:
    """Domains are kept when rows are merged, replaced and rearranged."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1, 2)).append(pairs(3))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}").given()
    recipe.merge([{"id": 3, "name": "merged"}, *pairs(4)], SAME_ID, *UPSERT)
    recipe.overwrite(pairs(5), compare("id", ">", 3, "long")).run("optimize")
    recipe.append(pairs(6)).publish(case)


@DOMAINS.case("write-kept-when-dropped", "DOM-014")
def _domains_kept_when_dropped(case: CaseWriter) -> None:
    """Domains are kept when a feature is dropped, where it may be."""
    recipe = Recipe(PAIR, features=("domainMetadata", "vacuumProtocolCheck")).append(pairs(1))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}").given()
    recipe.run("drop_feature", feature="vacuumProtocolCheck").append(pairs(2))
    recipe.publish(case, contested=FEATURE_DROPPED)


@DOMAINS.case("write-kept-when-overwritten", "DOM-014")
def _domains_kept_when_overwritten(case: CaseWriter) -> None:
    """Domains are kept when all rows are overwritten or the table replaced."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1, 2))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}").given()
    recipe.overwrite(pairs(5)).append(pairs(6)).replace(PAIR, (), pairs(7)).publish(case)


@DOMAINS.case("write-kept-when-columns-change", "DOM-014", features=("columnMapping",))
def _domains_kept_when_columns_change(case: CaseWriter) -> None:
    """Domains are kept when columns are renamed, ordered and dropped."""
    schema = struct(field("id", "long", nullable=False), field("name", "string"))
    recipe = Recipe.active(schema, "columnMapping", "domainMetadata").append(pairs(1, 2))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}").given()
    recipe.rename_column("name", "label").do(SetComment("label", "of a customer"))
    recipe.set_nullable("id", nullable=True).reorder_columns("label", "id").drop_column("label")
    recipe.append([{"id": 3}]).publish(case)


@DOMAINS.case("write-kept-when-restored", "DOM-014")
def _domains_kept_when_restored(case: CaseWriter) -> None:
    """Domains are kept when a version comes back, or rules come and go."""
    recipe = Recipe(DESCRIBED, features=("domainMetadata", "checkConstraints"))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}")
    recipe.append(pairs(1)).append(pairs(2)).given()
    recipe.run("add_constraint", name="positive", expression="id > 0")
    recipe.run("drop_constraint", name="positive").restore(3).append(pairs(4)).publish(case)


def _system(domain: str, configuration: str | None, requirement: str, case: CaseWriter) -> None:
    known = domain == "delta.rowTracking"
    recipe = Recipe(PAIR, features=("domainMetadata", *["rowTracking"] * known)).append(pairs(1))
    (recipe if known else recipe.set_domain(domain, '{"x":1}')).given()
    recipe.run("set_domain_metadata", domain=domain, configuration=configuration)
    recipe.publish(case, refusal=broken_rule(requirement))


for _name, _domain, _value, _id in (
    ("set", "delta.fromAnotherWorld", "{}", "DOM-015"),
    ("remove", "delta.fromAnotherWorld", None, "DOM-016"),
    ("remove-known", "delta.rowTracking", None, "DOM-015"),
):
    DOMAINS.define(
        f"write-system-{_name}",
        f"Nobody {'changes' if _value else 'removes'} the domain {_domain} of the system",
        "DOM-015 DOM-016",
        partial(_system, _domain, _value, _id),
    )


@DOMAINS.case("write-domains-by-case", "DOM-014")
def _domains_by_case(case: CaseWriter) -> None:
    """Domains whose names differ by case are two."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).set_domain("mine", "a")
    recipe.set_domain("Mine", "b").append(pairs(1)).checkpoint().set_domain("mine", None)
    recipe.append(pairs(2)).checkpoint().publish(case)
