"""Every generic mutant of the reading and writing code, by the operators of mutmut.

A mutant is one operator, constant, comparison, call or assignment changed in one place. What is
left out, and why, is in :data:`LEFT_OUT` and in :class:`_Finder`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from generic.mutant import PACKAGE, Mutant

_STORES = "object stores; the gate has local disk alone"
_CASTS = "casts of rows; those of a request have the types of the table"
_SQL = "filters as SQL text; every question has a tree as well, which the adapter gives"
_DISK = "needs a disk that fails, as tests/crashes has it"
_MEMORY = "a bound on time or memory"
_FREE = "the sizes that a writer aims at are its own"
_LINKS = "links, which no corpus holds"
_PAIRS = "maps without their annotation, of which no clause speaks"
_CALLERS = "a listing for callers in Python, which no request asks for"
_FUNCTIONS = "which functions and types of SQL there are; a writer may refuse any other"
_SPARK = "the SQL of Spark, of which no clause speaks"
_ARROW = "a schema of Arrow types; a request gives that of the table"
_EXPECTED = "which lines Arrow's reader takes; all others are parsed one by one, more slowly"
_MANIFESTS = "manifests for other engines, of which the protocol says nothing"
_RACES = "what another writer's commit is held against, as tests/races has it"
_PAGES = "which data pages a file has; pyarrow reads them and does not say"
_DURATIONS = "how a property spells a duration; no text names one"
_NUMBERS = "numbers in properties that no text names"
_CHOSEN = "when a checkpoint is written, and of which kind; no text names the properties"
_CAUTION = "which more files a vacuum keeps, where it is not sure; no clause asks for more"
_REQUESTS = "properties that ask for versions of the protocol, which no text names"
_FAMILIES = "what Spark makes of a cast; the standard of SQL leaves it open"

LEFT_OUT = {
    "__init__.py": "public names, loaded when they are asked for",
    "deletion_vectors/bitmap.py:Bitmap.rows": _CALLERS,
    "deletion_vectors/payload.py:_LEAST": _MEMORY,
    "deletion_vectors/payload.py:_RUNS": _MEMORY,
    "deletion_vectors/payload.py:_native": "an older layout, which by DVDESC-019 may be refused",
    "deletion_vectors/payload.py:_refuse_many": _MEMORY,
    "errors.py": "names and messages of refusals; no clause says how to word one",
    "expressions/engine.py:_BATCH": _MEMORY,
    "expressions/engine.py:_GROWTH": _MEMORY,
    "expressions/engine.py:_PATIENCE": _MEMORY,
    "expressions/engine.py:_Query.interrupt": _MEMORY,
    "expressions/engine.py:_SETTINGS": "what hostile SQL reaches, as tests/reference_impl tries",
    "expressions/engine.py:_UNUSED": _MEMORY,
    "expressions/engine.py:_await": _MEMORY,
    "expressions/functions.py": _FUNCTIONS,
    "expressions/growth.py": _MEMORY,
    "expressions/limits.py": _MEMORY,
    "expressions/parser.py:_FOREIGN": "words that a message names",
    "expressions/parser.py:_FOREIGN_SIGNS": "signs that a message names",
    "expressions/parser.py:_Parser._arguments": _FUNCTIONS,
    "expressions/parser.py:_Parser._call": _FUNCTIONS,
    "expressions/parser.py:_Parser._escape": _FUNCTIONS,
    "expressions/parser.py:_Parser._not_evaluated": "part of a message",
    "expressions/parser.py:_Parser._postfixed": _SPARK,
    "expressions/parser.py:_Parser._unexpected": "part of a message",
    "expressions/parser.py:_SUFFIXES": _SPARK,
    "expressions/parser.py:_with_suffix": _SPARK,
    "expressions/render.py:_FAMILIES": _FAMILIES,
    "expressions/render.py:_PLAIN_CALLS": _FUNCTIONS,
    "expressions/render.py:_call": _FUNCTIONS,
    "expressions/render.py:_concatenated": "CONCAT is no function of the standard of SQL",
    "expressions/render.py:_family": _FAMILIES,
    "expressions/render.py:_joint": _FAMILIES,
    "expressions/render.py:_row": _SPARK,
    "expressions/render.py:_whole": _FAMILIES,
    "expressions/sql.py:conjuncts": _SQL,
    "expressions/tokens.py:_ESCAPED": _SPARK,
    "expressions/tokens.py:_character": _SPARK,
    "filters/evaluate.py:_unknown": "comparisons with void columns, which may be left out",
    "filters/sql.py": _SQL,
    "filters/tree.py:_spelled": "text in the place of a literal; those of a request have types",
    "filters/tree.py:_type_of": "literals without a type; those of a request have one",
    "limits.py": "bounds on memory and time",
    "log/checkpoints/bounds.py:BATCH_ROWS": _MEMORY,
    "log/checkpoints/bounds.py:_most": _MEMORY,
    "log/checkpoints/bounds.py:_too_large": "part of a message",
    "log/checkpoints/bounds.py:refuse_bomb": _MEMORY,
    "log/checkpoints/reader.py:CheckpointReader._lacks_statistics": _MEMORY,
    "log/checkpoints/reader.py:_FEW_ROWS": _MEMORY,
    "log/checkpoints/reader.py:_SMALL_SIDECARS": _MEMORY,
    "log/file_columns.py:_BLOCK": _MEMORY,
    "log/file_columns.py:_FEW": _MEMORY,
    "log/file_columns.py:_LIMIT": _MEMORY,
    "log/file_columns.py:_MAX_KEYS": _MEMORY,
    "log/file_columns.py:_SAMPLES": _MEMORY,
    "log/file_columns.py:_line_at": _EXPECTED,
    "log/file_columns.py:_read_with_arrow": _EXPECTED,
    "log/file_columns.py:_samples": _EXPECTED,
    "log/file_columns.py:_schema": _EXPECTED,
    "log/lines.py:_CHECKED": _MEMORY,
    "log/lines.py:_SHORT": _MEMORY,
    "log/lines.py:_SMALL": _MEMORY,
    "log/lines.py:_without_gaps": "lines without content, of which no clause speaks",
    "model/file_actions.py:_unfit_row": "part of a message",
    "model/protocol.py:_unsupported": "part of a message",
    "model/ranges.py:_shown": "part of a message",
    "model/wire.py:_kind": "part of a message",
    "parquet/bounds.py:Bounded.__init__": _MEMORY,
    "parquet/bounds.py:Bounded._check_page_sizes": _MEMORY,
    "parquet/bounds.py:Bounded._check_row_group": _MEMORY,
    "parquet/bounds.py:Bounded._limit_list_rows": _MEMORY,
    "parquet/bounds.py:Bounded._longest_string": _MEMORY,
    "parquet/bounds.py:Bounded._pages": _MEMORY,
    "parquet/bounds.py:Bounded._too_large": _MEMORY,
    "parquet/bounds.py:Bounded.most": _MEMORY,
    "parquet/bounds.py:_AT_ONCE": _MEMORY,
    "parquet/bounds.py:_COUNTED": _MEMORY,
    "parquet/bounds.py:_FAITHFUL": _MEMORY,
    "parquet/bounds.py:_LEVELS": _MEMORY,
    "parquet/bounds.py:_MAX_STRING": _MEMORY,
    "parquet/bounds.py:_PAGES_GROWTH": _MEMORY,
    "parquet/bounds.py:_PREFIX": _MEMORY,
    "parquet/bounds.py:_REPEATING": _MEMORY,
    "parquet/bounds.py:_SHARED": _MEMORY,
    "parquet/bounds.py:_SMALL_BATCHES": _MEMORY,
    "parquet/bounds.py:_WIDTHS": _MEMORY,
    "parquet/bounds.py:_has_dictionary": _MEMORY,
    "parquet/bounds.py:_last_dictionary_row": _MEMORY,
    "parquet/bounds.py:_leaves": _MEMORY,
    "parquet/bounds.py:_longest": _MEMORY,
    "parquet/bounds.py:_rows_at": _MEMORY,
    "parquet/bounds.py:_values": _MEMORY,
    "parquet/pages.py": _MEMORY,
    "parquet/strings.py": _MEMORY,
    "parquet/thrift.py": _MEMORY,
    "places/place.py:LocalRoot._has_link": _LINKS,
    "places/place.py:LocalRoot.of_url": "a table named by a URL; a request names a folder",
    "places/place.py:ObjectRoot": _STORES,
    "places/place.py:_climbing": "part of a message",
    "places/place.py:_exact": _STORES,
    "places/policy.py:Policy.other": _STORES,
    "places/policy.py:_ANONYMOUS": _STORES,
    "places/policy.py:_FAMILIES": _STORES,
    "places/policy.py:_OPENED_AS": _STORES,
    "places/policy.py:_SECRET": _STORES,
    "places/policy.py:_without_search": _STORES,
    "places/policy.py:opened_as": _STORES,
    "places/spelling.py:_shown": "part of a message",
    "places/spelling.py:decode_url": "a table named by a URL; a request names a folder",
    "places/spelling.py:resembling": _CAUTION,
    "scan/conform.py:_is_pair": _PAIRS,
    "scan/conform.py:_list_of_pairs": _PAIRS,
    "scan/data_file.py:_COSTS": _MEMORY,
    "scan/reader.py:threads_for": _MEMORY,
    "scan/scan.py:_without_columns": "a read of no columns; every request names some",
    "snapshot/history.py:to_millis": "times as text; a request gives milliseconds",
    "snapshot/segment.py:_FEW": _MEMORY,
    "snapshot/segment.py:_GROUPS_PER_THREAD": _MEMORY,
    "snapshot/segment.py:_GROUP_BYTES": _MEMORY,
    "snapshot/segment.py:_PROBES": _MEMORY,
    "snapshot/segment.py:_list_again": "a listing that misses commits, as tests/races has it",
    "snapshot/snapshot.py:Snapshot._fits_cache": _MEMORY,
    "snapshot/snapshot.py:Snapshot.files": _CALLERS,
    "snapshot/snapshot.py:_CACHED_BYTES": _MEMORY,
    "snapshot/snapshot.py:_LISTINGS": _MEMORY,
    "snapshot/stats.py:_BATCH": _MEMORY,
    "snapshot/stats.py:to_struct": "serves typed_files alone",
    "snapshot/table_schema.py:typed_files": _CALLERS,
    "storage/": "disks and object stores; tests/crashes and tests/races let them fail",
    "types/arrow.py:_delta_type": _ARROW,
    "types/arrow.py:_struct": _ARROW,
    "types/arrow.py:from_arrow": _ARROW,
    "types/schema.py:_at": "part of a message",
    "types/schema.py:_deep_json": "schemas that nest more deeply than a serializer takes",
    "types/schema.py:_shown": "part of a message",
    "types/temporal.py:_offset_seconds": "zones in which no clause lets a value be spelled",
    "untrusted.py": "bounds on numbers and nesting in hostile text",
    "write/alter/columns.py:_begin": "operationParameters are free",
    "write/alter/columns.py:_inside": "nested fields; a request names a column of the table",
    "write/alter/create.py:read_schema": _ARROW,
    "write/checkpoints/files.py:_ROW_GROUP_ROWS": _FREE,
    "write/checkpoints/murmur.py": "which part a file is in; by the ruling on CKPT-N-003 a warning",
    "write/checkpoints/write.py:_MOST_FILES": _FREE,
    "write/checkpoints/write.py:style_of": _CHOSEN,
    "write/commit/checksum.py:_DELETED_BINS": "the bins of a histogram are the writer's to choose",
    "write/commit/checksum.py:_FLOAT_LIMIT": "files of more bytes than any corpus has",
    "write/commit/checksum.py:_SIZE_BINS": "the bins of a histogram are the writer's to choose",
    "write/commit/conflicts.py": "needs another writer at the same time, as tests/races has it",
    "write/commit/post_commit.py:ENGINE": "how a writer names itself",
    "write/commit/post_commit.py:_write_checkpoint": _CHOSEN,
    "write/commit/transaction.py:Transaction._commit_info": "what the history tells is free",
    "write/commit/transaction.py:Transaction._create": _DISK,
    "write/commit/transaction.py:Transaction._is_own_commit": _DISK,
    "write/commit/transaction.py:Transaction._rebase": "needs another writer, as tests/races",
    "write/commit/transaction.py:Transaction.read": _RACES,
    "write/commit/transaction.py:_ATTEMPTS": _MEMORY,
    "write/commit/transaction.py:_LONGEST_WAIT": _MEMORY,
    "write/commit/transaction.py:_STUCK": _MEMORY,
    "write/features/protocols.py:READER_VERSION_KEY": _REQUESTS,
    "write/features/protocols.py:WRITER_VERSION_KEY": _REQUESTS,
    "write/files/clustering.py:PROVIDER": "how a writer names itself",
    "write/files/clustering.py:sorted_by": "in which order a file has its rows, is free",
    "write/files/data_files.py:_FILE_BYTES": _FREE,
    "write/files/data_files.py:_FOLDERS_BYTES": _FREE,
    "write/files/data_files.py:_FOLDER_BYTES": _FREE,
    "write/files/orphans.py": _DISK,
    "write/files/parquet.py:_PAGES_V2": _PAGES,
    "write/files/parquet.py:_ROW_GROUP_ROWS": _FREE,
    "write/files/parquet.py:_SAMPLE": _FREE,
    "write/files/parquet.py:_dictionaries": _FREE,
    "write/files/referenced_files.py:ReferencedFiles._is": _MEMORY,
    "write/files/referenced_files.py:ReferencedFiles._mark_uncertain": _CAUTION,
    "write/files/referenced_files.py:ReferencedFiles._near": _MEMORY,
    "write/files/referenced_files.py:ReferencedFiles._targets": _LINKS,
    "write/interop/convert.py:_is_unicode": "names that no corpus can hold",
    "write/interop/convert.py:_refuse_link": _LINKS,
    "write/interop/convert.py:inferred_schema": "a schema of files; a request gives the schema",
    "write/interop/manifest.py:_replace_manifests": _MANIFESTS,
    "write/interop/manifest.py:_restore": _MANIFESTS,
    "write/interop/manifest.py:write_manifests": _MANIFESTS,
    "write/predicates.py:parse_predicate": _SQL,
    "write/properties.py:_NUMBERS": _NUMBERS,
    "write/properties.py:_Number": _NUMBERS,
    "write/properties.py:_PART": _DURATIONS,
    "write/properties.py:_UNITS": _DURATIONS,
    "write/properties.py:_parsed": _NUMBERS,
    "write/properties.py:integer_property": _NUMBERS,
    "write/properties.py:validate_number": _NUMBERS,
    "write/rows/assignments.py:refuse_identities": "no clause speaks of updates of such columns",
    "write/rows/clauses.py:Clauses.whens": "a short form; a request has the clauses",
    "write/rows/conform.py:_binary": _CASTS,
    "write/rows/conform.py:_leaf": _CASTS,
    "write/rows/conform.py:_plain": _CASTS,
    "write/rows/conform.py:_textual": _CASTS,
    "write/rows/merge.py:_keys_equal": "a short form; a request has the condition",
    "write/rows/operations.py:predicate_for_history": "operationParameters are free",
    "write/statistics.py:_name_parts": "a property that no text names",
    "write/upkeep/vacuum.py:_add_changes": "no clause says how long change files stay",
}
"""Modules that no request of the adapter contract puts to work on what the protocol speaks of;
after a colon, functions, classes and constants of others."""

_UNTOUCHED = frozenset({"len", "isinstance", "cast", "TypeVar", "NewType", "getLogger"})
"""Calls that stay: the first two mutmut leaves alone as well, the others only name types."""

_NAMING = frozenset(
    {"Transaction", "_begin", "at_file", "check", "exceeded", "hold", "require", "require_text"}
    | {"reserve"}
)
"""Calls that name an operation in commitInfo, a file, bound or value in a message, or count
memory."""

_TOLD = frozenset({"debug", "info", "warning", "error", "exception", "warn"})
"""Methods of a logger."""

_ASSERTING = frozenset({"created", "repr", "strict"})
"""Keywords that make an iteration fail where it never does, leave fields unshown, or name what
is discarded when a disk fails."""

_APART = _ASSERTING | {
    "action",
    "limits",
    "thrift_container_size_limit",
    "thrift_string_size_limit",
}
"""With them those that name the action in a refusal, or bound memory: what they give is no part
of what the protocol speaks of."""

SPOKEN = {
    "expressions/engine.py": frozenset({"text"}),
    "expressions/parser.py": frozenset(
        {"start", "first.start", "found.start", "token.start", "value.start"}
    ),
    "expressions/sql.py": frozenset({"self.text"}),
    "log/checkpoints/columns.py": frozenset({"place"}),
    "log/commits.py": frozenset({"place"}),
    "log/file_columns.py": frozenset({"_NOWHERE", "place"}),
    "model/file_actions.py": frozenset({"place"}),
    "model/protocol.py": frozenset({"place"}),
    "scan/conform.py": frozenset({"place"}),
    "scan/shredded.py": frozenset({"place"}),
    "types/schema.py": frozenset({"inside", "place"}),
    "types/widening.py": frozenset({"label"}),
    "write/features/void.py": frozenset({"column.name", "place"}),
    "write/rows/conform.py": frozenset({"place"}),
}
"""Arguments by which a refusal names a file, a column, or a part of an expression; no clause says
what it names."""

_SHOWN = frozenset({"__repr__", "__str__"})
_NAMES = frozenset({"__all__", "__slots__", "_log"})
_STATIC = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.Raise)
"""Types, decorators and imports; and what an error says, which no clause does."""

_REQUIREMENT = re.compile(r'"[A-Z0-9]+-[0-9]{3}"')
"""What an error names as broken; no clause says what an error names."""

_PROSE = re.compile(r'"(?:an?|no|one|the|two) [^"]*"')
"""What a message says of a thing: keys, names and SQL begin with no article or number word."""

_ANY_CASE = frozenset({"expressions/render.py"})
"""Where words in capitals are SQL for the engine, which reads them in any case."""

_NAMED = (cst.FunctionDef, cst.ClassDef)
_INNER = (cst.FunctionDef, cst.Lambda, cst.Parameters)
"""What is executed when it is called, but for the defaults of its parameters."""


def _says_less(node: cst.CSTNode, mutated: cst.CSTNode, spoken: frozenset[str]) -> bool:
    """Whether a call only loses what a message names, or an assertion."""
    if not isinstance(node, cst.Call) or not isinstance(mutated, cst.Call):
        return False
    kept = {id(each) for each in mutated.args}
    lost = [each for each in node.args if id(each) not in kept]
    return bool(lost) and all(
        (each.keyword is not None and each.keyword.value in _APART)
        or _is_spoken(each.value, spoken)
        for each in lost
    )


def _same_in_any_case(node: cst.CSTNode, mutated: cst.CSTNode) -> bool:
    """Whether words in capitals are only spelled in small letters."""
    return (
        isinstance(node, cst.SimpleString)
        and isinstance(mutated, cst.SimpleString)
        and node.value.isupper()
        and mutated.value.upper() == node.value
    )


def _is_spoken(value: cst.CSTNode, spoken: frozenset[str]) -> bool:
    """Whether a refusal alone says a value: one of the names, or a place with more behind it."""
    match value:
        case cst.Tuple(elements=[cst.StarredElement(value=inner), *_]):
            return _dotted(inner) in spoken
        case cst.Name() | cst.Attribute():
            return _dotted(value) in spoken
    return False


def _dotted(value: cst.BaseExpression) -> str | None:
    """Return a name, or that of an attribute with a dot; ``None`` for anything else."""
    match value:
        case cst.Name(name):
            return name
        case cst.Attribute(cst.Name(name), cst.Name(attribute)):
            return f"{name}.{attribute}"
    return None


@cache
def _error_names() -> frozenset[str]:
    tree = cst.parse_module((PACKAGE / "errors.py").read_text())
    names = {each.name.value for each in tree.body if isinstance(each, cst.ClassDef)}
    return frozenset({*names, "ValueError", "TypeError", "OSError", "OverflowError"})


@dataclass(frozen=True, slots=True)
class _Spot:
    """A change, before its code is made."""

    node: cst.CSTNode
    mutated: cst.CSTNode
    operator: str
    line: int
    within: str
    executed: tuple[int, ...]


class _Finder(cst.CSTVisitor):
    """Finds what can be changed, outside of messages, logging, types and names."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(
        self,
        left_out: frozenset[str],
        spoken: frozenset[str] = frozenset(),
        *,
        any_case: bool = False,
    ) -> None:
        super().__init__()
        self._spoken = spoken
        self._any_case = any_case
        self.found: list[_Spot] = []
        self._unseen = left_out
        self._statements: list[tuple[int, int]] = []
        self._inner = [False]
        self._names: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if self._left_out(node):
            return False
        if isinstance(node, _INNER):
            self._inner.append(not isinstance(node, cst.Parameters))
        if isinstance(node, _NAMED):
            self._names.append(node.name.value)
        span = self._span(node)
        if span and isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self._statements.append(span)
        if span:
            for kind, operator in mutation_operators:
                if isinstance(node, kind):
                    self._add(node, span, operator)
        return True

    def _add(self, node: cst.CSTNode, span: tuple[int, int], operator: object) -> None:
        begun = self._statements[-1][0] if self._statements else span[0]
        lines = tuple(range(begun, span[1] + 1)) if self._inner[-1] else ()
        name = operator.__name__.removeprefix("operator_")
        for mutated in operator(node):
            if _says_less(node, mutated, self._spoken) or (
                self._any_case and _same_in_any_case(node, mutated)
            ):
                continue
            self.found.append(_Spot(node, mutated, name, span[0], ".".join(self._names), lines))

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self._left_out(original_node):
            return
        if isinstance(original_node, _INNER):
            self._inner.pop()
        if isinstance(original_node, _NAMED):
            self._names.pop()
        if isinstance(original_node, cst.BaseSmallStatement | cst.BaseCompoundStatement) and (
            self._span(original_node)
        ):
            self._statements.pop()

    def _span(self, node: cst.CSTNode) -> tuple[int, int] | None:
        place = self.get_metadata(PositionProvider, node, None)
        return None if place is None else (place.start.line, place.end.line)

    def _left_out(self, node: cst.CSTNode) -> bool:  # noqa: C901, PLR0911, PLR0912  a table of kinds
        match node:
            case cst.FunctionDef(name=cst.Name(value)) | cst.ClassDef(name=cst.Name(value)):
                return value in _SHOWN or ".".join((*self._names, value)) in self._unseen
            case cst.If(test=cst.Name("TYPE_CHECKING")):
                return True
            case cst.Expr(value=cst.BaseString()):
                return True
            case cst.SimpleString(value):
                return (_REQUIREMENT.fullmatch(value) or _PROSE.fullmatch(value)) is not None
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value)), *_]):
                return value in _NAMES or (not self._names and value in self._unseen)
            case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name("TypeAlias"))):
                return True
            case cst.AnnAssign(target=cst.Name(value)):
                return value in _NAMES or (not self._names and value in self._unseen)
            case cst.Call(func=cst.Name(value)):
                return value in _UNTOUCHED | _NAMING | _error_names()
            case cst.Call(func=cst.Attribute(attr=cst.Name(value))) if value in _NAMING:
                return True
            case cst.Call(func=cst.Attribute(value=cst.Name("_log"), attr=cst.Name(value))):
                return value in _TOLD
            case cst.Arg(keyword=cst.Name(value)) if value in _APART:
                return True
            case cst.Tuple():
                return _is_spoken(node, self._spoken)
            case cst.Param(default=cst.BaseExpression() as given):
                # As mutmut: others may raise where the function is defined.
                return not isinstance(given, cst.Name | cst.BaseNumber | cst.BaseString)
        return isinstance(node, _STATIC)


def _modules() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not any(name == out or (out[-1] == "/" and name.startswith(out)) for out in LEFT_OUT):
            yield path


@cache
def _spots(path: Path) -> tuple[cst.Module, tuple[_Spot, ...]]:
    wrapper = MetadataWrapper(cst.parse_module(path.read_text()))
    name = path.relative_to(PACKAGE).as_posix()
    finder = _Finder(
        frozenset(n.removeprefix(f"{name}:") for n in LEFT_OUT if n.startswith(f"{name}:")),
        SPOKEN.get(name, frozenset()),
        any_case=name in _ANY_CASE,
    )
    wrapper.visit(finder)
    return wrapper.module, tuple(finder.found)


def population() -> list[tuple[Path, int]]:
    """Give the place of every mutant: its module, and its number among those of the module."""
    return [(path, number) for path in _modules() for number in range(len(_spots(path)[1]))]


def _made(path: Path, number: int) -> Mutant | None:
    """Make a mutant; ``None`` where the change leaves code that Python does not take."""
    module, spots = _spots(path)
    spot = spots[number]
    code = module.deep_replace(spot.node, spot.mutated).code
    try:
        compile(code, str(path), "exec", dont_inherit=True)
    except SyntaxError:
        return None
    was, becomes = _difference(module.code, code)
    return Mutant(
        path.relative_to(PACKAGE).as_posix(),
        spot.line,
        spot.within,
        spot.operator,
        was,
        becomes,
        spot.executed,
        code,
    )


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the lines that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _difference(before: str, after: str) -> tuple[str, str]:
    """Give the lines that differ, those of each text in one."""
    old, new = before.splitlines(), after.splitlines()
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    return tuple(  # type: ignore[return-value]
        " ".join(" ".join(lines[start : len(lines) - end]).split()) for lines in (old, new)
    )


def drawn(seed: int, count: int, places: Sequence[tuple[Path, int]] | None = None) -> list[Mutant]:
    """Draw mutants at random, each at most once.

    Args:
        seed: of the order in which they are drawn; a larger count only goes on.
        count: how many.
        places: what to draw from, all of the population when ``None``.

    """
    order = list(population() if places is None else places)
    random.Random(seed).shuffle(order)  # noqa: S311  a sample, no secret
    found: list[Mutant] = []
    for path, number in order:
        if len(found) == count:
            break
        mutant = _made(path, number)
        if mutant is not None:
            found.append(mutant)
    return found
