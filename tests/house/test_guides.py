"""What the guides say is what the code does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import conformance.adapter
import reference_impl
from conformance.adapter import REQUESTS
from conformance.guides import GUIDES, stale, with_blocks
from conformance.guides.api import reference_of
from conformance.guides.contract import SCHEMAS

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ROOT / "docs/formats.md"


def test_generated_parts_are_those_of_the_code() -> None:
    assert stale() == [], "run: python -m conformance.guides"


def test_an_edited_part_is_noticed(tmp_path: Path) -> None:
    for name in (*GUIDES, *SCHEMAS):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((ROOT / name).read_text())
    options = tmp_path / "docs/options.md"
    options.write_text(options.read_text().replace("`--impl=NAME`", "`--implementation=NAME`"))
    schema = tmp_path / "schemas/kit/recipe-step.schema.json"
    schema.write_text(schema.read_text().replace('"set_nullable"', '"set_null"'))
    assert stale(tmp_path) == ["docs/options.md", "schemas/kit/recipe-step.schema.json"]


def test_the_api_has_every_public_name_with_what_it_says() -> None:
    text = reference_of(reference_impl)
    assert set(re.findall(r"^### `(\w+)`", text, re.MULTILINE)) == set(reference_impl.__all__)
    assert "#### `Table.append`" in text
    assert "append(rows: pa.Table, *, txn: tuple[str, int] | None = None) -> int" in text
    assert "- `ConstraintViolation`: a row breaks a rule of the table." in text


def test_the_api_shows_fields_and_aliases() -> None:
    text = reference_of(conformance.adapter)
    assert "class Ok\n    payload: Any" in text
    assert "Answer: TypeAlias = Ok | Refused" in text
    assert ":class:" not in text


@pytest.mark.parametrize("word", REQUESTS)
def test_the_formats_have_every_request_with_its_fields(word: str) -> None:
    *_, row = re.findall(rf"^\| `{word}` \| (.*) \| .* \|$", FORMATS.read_text(), re.MULTILINE)
    of = {each.name for each in fields(REQUESTS[word])} - {"table"}
    more = {"rows_to"} if word in ("scan", "aggregate", "changes") else set()
    assert set(re.findall(r"`(\w+)`", row)) == of | more


def test_a_marker_without_a_part_is_refused() -> None:
    with pytest.raises(LookupError, match="nonsense"):
        with_blocks("<!-- nonsense -->\n<!-- /nonsense -->")


@pytest.mark.parametrize("guide", [*GUIDES, "CONTRIBUTING.md", "docs/adapters.md"])
def test_links_lead_somewhere(guide: str) -> None:
    path = ROOT / guide
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{guide} links {target}"


def test_the_readme_begins_with_the_two_commands() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:40])
    assert "python -m pip install tox && tox run -e ours" in first_screen
    assert re.search(r"python -m pip install tox && tox run$", first_screen, re.MULTILINE)
