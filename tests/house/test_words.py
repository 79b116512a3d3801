"""The words of the field: a glossary in one sense each, and turns that are not of the field."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest
from tracked import ROOT, tracked

GLOSSARY = ROOT / "docs/glossary.md"

# A turn, and what to write in its place.
FORBIDDEN = {
    r"told|tells?": "says, gives, reports, distinguishes",
    r"anew": "again; rewritten",
    r"of before": "earlier, previous, former",
    r"(?<!there )(?:is|are) none(?! of)": "is not a ...; does not exist",
    r"vouch\w*": "untrusted",
    r"weigh(?:s|ed|ing)?": "check the size; judge by the level",
    r"glue[ds]?": "concatenate, join",
    r"brought": "given, input",
    r"kept back|keeps? back": "withheld",
    r"doubtful": "ambiguous",
    r"settle[ds]?|settling": "validate, resolve, parse again",
    r"blam(?:e|es|ed|ing)": "attribute; recoverable",
    r"lonely": "unmatched",
    r"unfold(?:s|ed|ing)?": "decompress",
    r"in vain": "that does not exist",
    r"in the house": "repository layout",
    r"testimony": "what the witness reads",
    r"falls? over": "crash",
    r"be had": "available",
    r"whoever|somebody|anybody": "a reader, a writer, a user, another process",
    r"(?<!`)nobody(?!`)": "no reader, no writer; nothing; unknown; by a passive",
    r"serves (?:\"|`|every section|the sections?)": "implements, covers; see",
    r"footprint": "read set and write set",
    r"(?:holds?|held|holding) (?:\w+ ){0,5}against": "check against, compare with",
}
TURNS = re.compile("|".join(rf"\b(?:{turn})\b" for turn in FORBIDDEN), re.IGNORECASE)

# How often a package still uses one in docstrings and comments, and in names.
TOLERATED = {
    "benchmarks": (0, 0),
    "conformance": (0, 0),
    "delta_tck_pytest.py": (0, 0),
    "generators": (0, 0),
    "reference_impl": (0, 1),  # a method of file objects
    "schemas": (0, 0),
    "tests": (0, 2),
}

# A constant says what it holds: ``_MAX_SHOWN``, ``_SMALL_ACTIONS``, and neither such a word alone
# nor, as ``_OF_FILES``, only what that belongs to.
BARE = re.compile(
    r"_?(?:after|allowed|always|any|asked|bad|bare|before|best|both|changed|checked|"
    r"counted|deep|earlier|empty|escaped|every|exact|far|few|fine|first|foreign|"
    r"found|free|future|given|gone|good|guarded|harmless|held|here|hidden|high|"
    r"kept|known|large|last|later|least|left|less|like|listed|long|loose|lost|"
    r"low|made|many|mine|missing|more|most|moving|named|narrow|near|never|new|"
    r"none|nothing|now|of|old|older|once|only|other|others|owed|own|past|plain|"
    r"rich|right|said|same|seen|short|shown|since|single|small|some|spared|"
    r"sparing|stored|strict|such|taken|then|there|those|tolerated|typed|unsaid|"
    r"until|wanted|whole|wide|with|without|written|wrong)|_OF_\w+",
    re.IGNORECASE,
)
ABOUT = {
    "reference_impl/types/model.py": {"LONG", "SHORT"},  # types of Delta
    "generators/oracle/operations/arguments.py": {"LONG"},
    "generators/materialise/layouts.py": {"PLAIN"},  # a layout by its name
    "conformance/judging/compare/documents.py": {"_MISSING"},  # in place of what is missing
}


# The changelog says what was said then; the API page is made of docstrings, which are counted.
GUIDES = [n for n in tracked("*.md") if n not in ("CHANGELOG.md", "docs/api.md")]


def _prose(text: str) -> Iterator[str]:
    """Yield the docstrings and comments of a module, those of its constants among them.

    The docstring of a builder is the title of its case, which the corpus repeats: it is left out.
    """
    nodes = list(ast.walk(ast.parse(text)))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef))
    titles = [f.body[0] for f in functions if any(map(_defines_case, f.decorator_list))]
    lone = (node.value for node in nodes if isinstance(node, ast.Expr) and node not in titles)
    yield from (str(node.value) for node in lone if isinstance(node, ast.Constant))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def _defines_case(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("case")


def _names(text: str) -> set[str]:
    """Return the names that a module defines."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
    return found


def _spaced(name: str) -> str:
    return " ".join(re.findall(r"[A-Z]?[a-z]+|\d+", name))


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_is_in_the_words_of_the_field(guide: str) -> None:
    text = (ROOT / guide).read_text()
    by_hand = re.sub(r"<!-- ([a-z-]+) -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    found = TURNS.findall(by_hand)
    assert not found, "see FORBIDDEN for what to write"


@pytest.mark.parametrize("package", TOLERATED)
def test_code_is_in_the_words_of_the_field(package: str) -> None:
    modules = (name for name in tracked(f"{package}/*.py", package) if name.endswith(".py"))
    texts = {name: (ROOT / name).read_text() for name in modules}
    prose = [
        (n, found) for n, text in texts.items() for found in TURNS.findall("\n".join(_prose(text)))
    ]
    names = [(n, x) for n, text in texts.items() for x in _names(text) if TURNS.search(_spaced(x))]
    most = TOLERATED[package]
    assert len(prose) <= most[0], f"see FORBIDDEN for what to write: {prose[:9]}"
    assert len(names) <= most[1], f"see FORBIDDEN for what to write: {names}"


@pytest.mark.parametrize("package", ["conformance", "reference_impl", "schemas"])
def test_messages_are_in_the_words_of_the_field(package: str) -> None:
    for name in tracked(f"{package}/*.py"):
        for node in ast.walk(ast.parse((ROOT / name).read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert " " not in node.value or not TURNS.findall(node.value), (name, node.lineno)


@pytest.mark.parametrize("package", ["benchmarks", "conformance", "generators", "reference_impl"])
def test_a_constant_says_what_it_holds(package: str) -> None:
    modules = set(tracked(f"{package}/*.py")) - set(tracked("generators/golden/*.py"))
    bare = [
        (name, target.id)
        for name in sorted(modules)
        for node in ast.parse((ROOT / name).read_text()).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in ast.walk(node)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
        if target.id.isupper() and BARE.fullmatch(target.id)
        if target.id not in ABOUT.get(name, ())
    ]
    assert not bare


# What the glossary calls a filter and a predicate, by the type of it.
CALLED = {
    "Filter": {"filter"},
    "Mapping[str, Any] | str": {"filter"},
    "Node": {"node", "part", "predicate"},
    "Predicate": {"predicate"},
}


def test_filters_and_predicates_are_called_so() -> None:
    modules = set(tracked("reference_impl/*.py")) - set(tracked("reference_impl/expressions/*.py"))
    modules -= {"reference_impl/filters/sql.py"}  # of nodes of SQL
    called = [
        (name, node.lineno, word)
        for name in sorted(modules)
        for node in ast.walk(ast.parse((ROOT / name).read_text()))
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None
        for word in [node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)]
        for wanted in [CALLED.get(ast.unparse(node.annotation).removesuffix(" | None"))]
        if wanted and word not in wanted
    ]
    assert not called


def test_every_package_is_counted() -> None:
    assert {name.split("/")[0] for name in tracked("*.py")} == set(TOLERATED)


def test_a_turn_is_noticed() -> None:
    assert TURNS.findall("Files of before are told anew, and it is none.") == [
        "of before",
        "told",
        "anew",
        "is none",
    ]
    assert not TURNS.findall("There is none of it. The writer retold nothing.")


def _entries() -> list[tuple[str, str, str]]:
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$", GLOSSARY.read_text(), re.MULTILINE
    )
    return [(word, meaning, owner) for word, meaning, owner in rows]


def test_the_glossary_has_each_word_once_and_in_order() -> None:
    words = [word for word, _, _ in _entries()]
    assert words == sorted(set(words))


@pytest.mark.parametrize(("word", "owner"), [(word, owner) for word, _, owner in _entries()])
def test_a_word_has_an_owner_that_uses_it(word: str, owner: str) -> None:
    place = ROOT / owner
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    assert files, f"{owner} is not there"
    spelled = r"[\W_]".join(map(re.escape, word.split()))
    pattern = re.compile(rf"(?<![a-z]){spelled}", re.IGNORECASE)
    assert any(pattern.search(file.read_text()) for file in files), f"{owner} has no {word!r}"


def test_the_outcomes_are_in_the_glossary() -> None:
    tree = ast.parse((ROOT / "conformance/base/outcomes.py").read_text())
    (outcome,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Outcome"]
    words = {
        node.value.value
        for node in outcome.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    assert words - {"pass", "fail", "error"} <= {word for word, _, _ in _entries()}
