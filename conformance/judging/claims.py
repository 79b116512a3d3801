"""Claims checked against the words of the contract, and questions and tables against claims.

See "Table Features" and the section "Adapter messages" of ``docs/formats.md``. A word that the
contract does not know claims nothing, and what is not claimed is not judged: a misspelled claim
would turn failures into questions that are not asked. Unknown words therefore end the start of an
adapter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.adapter import READ_OPERATIONS, WRITE_OPERATIONS, Claims, Description
from conformance.base.faults import AdapterStartError
from conformance.base.terminal import meant, one_line, shortened
from conformance.base.untrusted import parse_json, read_bytes
from conformance.golden.cases import Case, Spec
from conformance.judging.recipes.needs import capabilities_of, unclaimed_operations
from conformance.questions import CAPABILITY_PARAMETERS, QUESTIONS
from generators.oracle.operations import OPERATIONS
from reference_impl.model.actions import Protocol
from reference_impl.model.features import supported
from schemas.features import FEATURES

CAPABILITIES: Final = frozenset(
    {f"{entry.name}.{point}" for entry in OPERATIONS.values() for point in entry.capabilities}
    | {
        f"{question.operation}.{point}"
        for question in QUESTIONS.values()
        for point in question.parameters.keys() & set(CAPABILITY_PARAMETERS)
        if question.operation is not None
    }
    | {
        word
        for entry in QUESTIONS.values()
        for word in (*entry.capabilities, *entry.needs, *entry.keys)
    }
    | {f"{operation}.ratified" for operation in READ_OPERATIONS}
)
"""Every word that ``capabilities`` may hold."""

_REFUSABLE: Final = frozenset(word for entry in QUESTIONS.values() for word in entry.needs)
"""Capabilities whose questions are asked in any case: without the claim a refusal passes too."""

_VERSIONED_OPERATIONS: Final = {
    "reader_version": READ_OPERATIONS,
    "writer_version": WRITE_OPERATIONS,
}
"""Operations for which a version is due: who claims none would be excused from every table."""

_HIGHEST: Final = {"reader_version": 3, "writer_version": 7}
"""The versions of the text that has the most; what an implementation takes is its own."""

_MEANT: Final = {"read": "scan", "write": "append", "query": "scan", "insert": "append"}
"""Words of engines for operations, which no letters of the contract's are near."""

_STAMPS: Final = ("name", "engine_version", "adapter_version")
_FEATURE_KINDS: Final[Mapping[str, str]] = {
    name: feature.kind for feature in FEATURES.values() for name in (feature.name, *feature.aliases)
}
WORDS: Final[Mapping[str, Collection[str]]] = {
    "operations": READ_OPERATIONS | WRITE_OPERATIONS,
    "capabilities": CAPABILITIES,
    "reader_features": frozenset(
        name for name, kind in _FEATURE_KINDS.items() if kind == "reader_writer"
    ),
    "writer_features": frozenset(_FEATURE_KINDS),
}
"""The words that each set of claims may hold."""

_MAX_NAMED: Final = 20
"""Unknown words of a set that are named."""

_MAX_TEXT_CHARACTERS: Final = 200
"""Characters of a name, a version or a word that is named."""


def description_faults(description: Description) -> list[str]:
    """Return what a results file cannot hold of a description, and which claims are unknown."""
    wrong = [*_type_faults(description)]
    return wrong or [*_stamp_faults(description), *claims_faults(description.claims)]


def validated(description: Description) -> Description:
    """Check a description against the contract, and return it with texts of one line.

    Raises:
        AdapterStartError: it claims unknown words, or no results file may hold it.
    """
    faults = description_faults(description)
    if faults:
        named = getattr(description, "name", None)
        who = one_line(shortened(named, 100)) if isinstance(named, str) else "the adapter"
        raise AdapterStartError(f"{who} claims what is not known: {'; '.join(faults)}")
    # One that runs here may give claims of its own class, which say something else later.
    claims = Claims(
        **{name: _plain(getattr(description.claims, name)) for name in (*_HIGHEST, *WORDS)}
    )
    return replace(
        description,
        claims=claims,
        name=one_line(description.name),
        engine_version=one_line(description.engine_version),
        adapter_version=one_line(description.adapter_version),
    )


def _plain(claimed: int | frozenset[str]) -> Any:
    return frozenset(map(str.__str__, claimed)) if isinstance(claimed, frozenset) else int(claimed)


def _type_faults(description: Description) -> Iterator[str]:
    """Yield what has another type than the contract's: an adapter in this process is not parsed."""
    given: Any = description
    if not isinstance(given, Description) or not isinstance(given.claims, Claims):
        yield "describe() gives a Description with Claims"
        return
    for name in _STAMPS:
        if not isinstance(getattr(description, name), str):
            yield f"{name} is text"
    for name in _HIGHEST:
        number = getattr(description.claims, name)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            yield f"{name} is a whole number, not {shortened(repr(number), _MAX_TEXT_CHARACTERS)}"
    for name in WORDS:
        words = getattr(description.claims, name)
        if not isinstance(words, frozenset) or not all(isinstance(word, str) for word in words):
            yield f"{name} is a frozenset of texts"


def _stamp_faults(description: Description) -> Iterator[str]:
    for name in _STAMPS:
        if len(getattr(description, name)) > _MAX_TEXT_CHARACTERS:
            yield f"{name} has more than {_MAX_TEXT_CHARACTERS} characters"
    if not description.name:
        yield "name is empty"


def claims_faults(claims: Claims) -> Iterator[str]:
    """Find claims that the contract has no word for, each with the nearest word that it has.

    Of each set some are named, and the rest counted: an adapter may claim a million.
    """
    for name, highest in _HIGHEST.items():
        if getattr(claims, name) > highest:
            yield f"{name}: {highest} is the highest that the protocol has"
        asked = sorted(claims.operations & _VERSIONED_OPERATIONS[name])
        if asked and getattr(claims, name) == 0:
            yield f"{name}: 0 is no version, and {asked[0]} is claimed; the lowest is 1"
    for name, words in WORDS.items():
        unknown = getattr(claims, name) - frozenset(words)
        if len(unknown) > _MAX_NAMED:
            yield f"{name}: {len(unknown)} are no words of the contract"
            continue
        for word in sorted(shortened(str(word), _MAX_TEXT_CHARACTERS) for word in unknown):
            if name == "reader_features" and word in _FEATURE_KINDS:
                yield f"{name}: {word!r} is a feature of writers alone"
                continue
            near = _MEANT.get(word, word) if name == "operations" else word
            yield f"{name}: {word!r} is no word of the contract{meant(near, words, 1, 0.5)}"


def fewer_claims(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name what was claimed before and is claimed no longer; as ``Claims.as_document`` gives."""
    lost = []
    for name, value in before.items():
        if isinstance(value, list):
            lost += [f"{name}: {word}" for word in value if word not in now.get(name, ())]
        elif now.get(name, 0) < value:
            lost.append(f"{name}: {value} has become {now.get(name, 0)}")
    return lost


def lacking(spec: Spec, claims: Claims) -> str | None:
    """Name the operation or capability that a spec needs and an implementation does not claim.

    A type that is asked by no request (as ``checksum``) cannot be claimed.
    """
    if spec.type == "write":
        needed = set(spec.needs - _REFUSABLE)
        needed = needed.union(*map(capabilities_of, spec.parameters["operations"]))
        missing = unclaimed_operations(spec, claims) or sorted(needed - claims.capabilities)
        return next(iter(missing), None)
    question = QUESTIONS[spec.type]
    if question.operation is None:
        return spec.type
    if question.operation not in claims.operations:
        return question.operation
    needed = {*(spec.needs - _REFUSABLE), *question.capabilities}
    needed |= {f"{question.operation}.{p}" for p in CAPABILITY_PARAMETERS if p in spec.parameters}
    if "ratified" in spec.parameters:
        needed.add(f"{question.operation}.ratified")
    missing = sorted(needed - claims.capabilities)
    return missing[0] if missing else None


def unclaimed_needs(spec: Spec, claims: Claims) -> list[str]:
    """Name the capabilities without whose claim a spec is asked, and may be refused."""
    return sorted((spec.needs & _REFUSABLE) - claims.capabilities)


def unclaimed_features(case: Case, claims: Claims) -> list[str]:
    """Name the features, or the version, of a case's table that are not claimed for reading."""
    # Version 2 implies the feature; version 3 says nothing of a feature that it does not list.
    legacy = {"columnMapping"} if claims.reader_version == 2 else set()
    missing = sorted(case.features - claims.reader_features - legacy)
    if not missing and claims.reader_version < 3 and not case.features:
        version = _reader_version(case)
        return [f"reader version {version}"] if version > claims.reader_version else []
    return missing


def _reader_version(case: Case) -> int:
    """Return what a table without features of readers asks of them; 1 where it is unknown."""
    path = case.table.parent / "table_info.json"
    if not path.is_file():
        return 1
    protocol = parse_json(read_bytes(path)).get("protocol")
    version = protocol.get("minReaderVersion") if isinstance(protocol, dict) else None
    return version if type(version) is int else 1


def unclaimed_by_writer(
    claims: Claims, protocol: Protocol | None, asked: Collection[str]
) -> list[str]:
    """Name what a writer of a table has to support and an implementation does not claim.

    Args:
        claims: what it claims.
        protocol: the table's protocol; ``None`` where there is no table yet.
        asked: names of features that the operation itself asks for.
    """
    needed = set(asked)
    missing = []
    if protocol is not None:
        needed |= supported(protocol)
        if protocol.min_writer_version > claims.writer_version:
            missing.append(f"writer version {protocol.min_writer_version}")
    for name in tuple(needed):
        needed |= set(FEATURES[name].requires) if name in FEATURES else set()
    claimed = {
        feature.name
        for feature in FEATURES.values()
        if claims.writer_features & {feature.name, *feature.aliases}
        # Below version 7 the version alone says which features a writer supports.
        or 0 < feature.legacy_writer <= claims.writer_version < 7
    }
    return [*missing, *sorted(needed - claimed)]
