"""Damage: every plan can be repeated, every technique damages, every bomb is small on disk."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import BOMBS, Bomb, damage_at, damages
from damage.json_damage import damage_json_lines
from damage.parquet_damage import damage_parquet
from damage.plan import BYTE_DAMAGES, log_and_vector_files

from generators.mutations.bases import BASES

LINES = b'{"add":{"path":"a","stats":"{\\"numRecords\\":1}","size":1}}\n{"txn":{"appId":"x"}}\n'


def chance(seed: int) -> Random:
    return Random(seed)  # noqa: S311  a plan, not a secret


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("name", BYTE_DAMAGES)
def test_byte_damage_is_fixed_by_its_seed_and_takes_any_bytes(name: str) -> None:
    damage = BYTE_DAMAGES[name]
    for data in (b"", b"x", bytes(range(256))):
        assert damage(data, chance(3)) == damage(data, chance(3))
    changed = [damage(bytes(range(256)), chance(seed)) for seed in range(8)]
    assert any(each != bytes(range(256)) for each in changed)


def test_json_damage_leaves_one_line_changed_and_the_other_alone() -> None:
    seen = {damage_json_lines(LINES, chance(seed)) for seed in range(200)}
    assert len(seen) > 50
    for each in seen:
        kept = set(each.split(b"\n")) & set(LINES.split(b"\n"))
        assert kept - {b""}


def test_json_damage_leaves_alone_what_it_cannot_take_apart() -> None:
    for data in (b"{", b"", b'{"a":' * 100_000 + b"1" + b"}" * 100_000):
        assert damage_json_lines(data, chance(1)) == data


def test_json_damage_reaches_numbers_that_python_cannot_spell() -> None:
    text = b"".join(damage_json_lines(LINES, chance(seed)) for seed in range(600))
    assert b"1e400" in text
    assert b"NaN" in text
    assert b"[" * 400 in text
    assert b"raw:" not in text


def test_json_damage_reaches_into_embedded_json() -> None:
    damaged = [damage_json_lines(LINES, chance(seed)) for seed in range(300)]
    stats = set()
    for each in damaged:
        try:
            document = json.loads(each.split(b"\n")[0], parse_constant=str)
        except (ValueError, RecursionError):
            continue
        add = document.get("add") if isinstance(document, dict) else None
        if isinstance(add, dict) and isinstance(add.get("stats"), str):
            stats.add(add["stats"][:40])
    assert len(stats) > 5


def test_what_is_no_json_comes_back_as_it_was() -> None:
    assert damage_json_lines(b"", chance(0)) == b""
    assert damage_json_lines(b"\x00not json", chance(0)) == b"\x00not json"


def test_parquet_damage_gives_parquet_files_of_other_shapes() -> None:
    table = pa.table({"a": [1, 2], "s": [{"x": 1, "y": "b"}, None]})
    target = BytesIO()
    pq.write_table(table, target)
    shapes = set()
    for seed in range(80):
        damaged = pq.ParquetFile(BytesIO(damage_parquet(target.getvalue(), chance(seed)))).read()
        shapes.add((str(damaged.schema), damaged.num_rows))
    assert len(shapes) > 10
    assert damage_parquet(b"junk", chance(0)) == b"junk"


def test_a_parquet_file_whose_names_are_no_text_stays_as_it_is() -> None:
    target = BytesIO()
    pq.write_table(pa.table({"abcdef": [1, 2], "x": [1, 1]}), target, store_schema=False)
    struck = target.getvalue().replace(b"abcdef", b"ab\xff\xfeef")
    assert all(damage_parquet(struck, chance(seed)) == struck for seed in range(40))


def test_a_damage_can_be_made_again_from_its_number(tmp_path: Path) -> None:
    for number in range(0, 28, 3):
        first, second = tmp_path / f"{number}a", tmp_path / f"{number}b"
        assert damage_at(number, 9).build(first)[1] == damage_at(number, 9).build(second)[1]
        assert contents(first) == contents(second)


def test_damage_strikes_every_base_and_every_kind_of_file(tmp_path: Path) -> None:
    done = []
    for place, damage in enumerate(damages(6 * len(BASES), seed=1)):
        done.append(damage.build(tmp_path / str(place))[1])
    assert {each.base.name for each in damages(len(BASES))} == {each.name for each in BASES}
    text = " ".join(done)
    for part in (".json", ".checkpoint.", "_last_checkpoint", ".parquet", "_sidecars"):
        assert part in text


def test_the_log_is_struck_more_often_than_the_data(tmp_path: Path) -> None:
    BASES[0].build(tmp_path / "t")
    files = log_and_vector_files(tmp_path / "t")
    in_log = [path for path in files if "_delta_log" in path.parts]
    assert len(in_log) > len(files) - len(in_log)


SMALL_BOMBS = [each for each in BOMBS if "mebibytes" not in each.id and "million" not in each.id]


@pytest.mark.parametrize("bomb", SMALL_BOMBS, ids=lambda each: each.id)
def test_a_bomb_is_small_on_disk_and_leaves_its_base_behind(tmp_path: Path, bomb: Bomb) -> None:
    before = bomb.base.build(tmp_path / "base")
    bomb.build(tmp_path / "bomb")
    after = contents(tmp_path / "bomb")
    assert sum(map(len, after.values())) < 16 * 1024 * 1024
    assert after != contents(before.root)
