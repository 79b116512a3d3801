"""Spellings of paths, and what comes of reading them."""

from __future__ import annotations

from typing import Any

import pytest

ROWS, REFUSED = "rows", "refused"

# What an action spells for a file of that name, with the absolute root, real or by a symlink; and
# what comes of reading it.
RELATIVE = {
    "{name}": ROWS,
    "./{name}": ROWS,
    ".//{name}": ROWS,
    "././{name}": ROWS,
    ".///./{name}": ROWS,
    "%2E/{name}": ROWS,
    "%2e%2F{name}": ROWS,
    "../t/{name}": REFUSED,
    "./../t/{name}": REFUSED,
    "%2e%2e/t/{name}": REFUSED,
    "%2E%2E%2Ft%2f{name}": REFUSED,
    "x/../{name}": REFUSED,
    "..//t/{name}": REFUSED,
}
ABSOLUTE = {
    "{root}/{name}": ROWS,
    "/{root}/{name}": ROWS,
    "{root}/./{name}": ROWS,
    "{root}//{name}": ROWS,
    "{root}/../t/{name}": ROWS,
    "{root}/%2e%2e/t/{name}": ROWS,
    "%2F..{root}/{name}": ROWS,
    "{link}/{name}": ROWS,
    "{link}/../t/{name}": ROWS,
    "file:{root}/{name}": ROWS,
    "file://{root}/{name}": ROWS,
    "FILE:{root}/{name}": ROWS,
    "File://{root}/{name}": ROWS,
    "file%3A{root}/{name}": ROWS,
    "f%69le://{root}/{name}": ROWS,
    "file:////{root}/{name}": ROWS,
    "file://localhost{root}/{name}": ROWS,
    "FILE://LocalHost{root}/{name}": ROWS,
    "file://%6cocalhost{root}/{name}": ROWS,
    "file://{link}/{name}": ROWS,
    "file:{link}/{name}": ROWS,
    "file://{root}/./{name}": ROWS,
    "file://{root}//{name}": ROWS,
    "file://{root}/../t/{name}": ROWS,
    "file://127.0.0.1{root}/{name}": REFUSED,
    "file://host{root}/{name}": REFUSED,
    "file://user@localhost{root}/{name}": REFUSED,
    "s3://bucket/t/{name}": REFUSED,
    "S3A://bucket{root}/{name}": REFUSED,
    "gs://bucket/{name}": REFUSED,
    "abfss://c@a.dfs.core.windows.net/t/{name}": REFUSED,
    "hdfs://node:8020{root}/{name}": REFUSED,
    "hdfs:{root}/{name}": REFUSED,
    "viewfs://x{root}/{name}": REFUSED,
    "http://127.0.0.1:9/{name}": REFUSED,
    "https://127.0.0.1:9/{name}": REFUSED,
    "memory:///t/{name}": REFUSED,
    "c:/t/{name}": REFUSED,
}
SPELLINGS = RELATIVE | ABSOLUTE

# What the file is called on disk, and what stands for its name in the action.
NAMES = {
    "part 0.parquet": ["part%200.parquet", "part 0.parquet", "part%20%30.parquet"],
    "part#0.parquet": ["part%230.parquet", "part#0.parquet"],
    "part?0.parquet": ["part%3F0.parquet", "part%3f0.parquet", "part?0.parquet"],
    "part%250.parquet": ["part%25250.parquet"],
    "100%.parquet": ["100%25.parquet", "100%.parquet"],
    "a+b.parquet": ["a+b.parquet", "a%2Bb.parquet", "a%2bb.parquet"],
    "part:0.parquet": ["part:0.parquet", "part%3A0.parquet"],
    "file:x.parquet": ["file%3Ax.parquet", "file:x.parquet"],
    "é.parquet": ["é.parquet", "%C3%A9.parquet", "%c3%a9.parquet"],
    "e\u0301.parquet": ["e\u0301.parquet", "e%CC%81.parquet"],
    "..parquet": ["..parquet", "%2e.parquet"],
    "a\\b.parquet": ["a%5Cb.parquet", "a\\b.parquet"],
    ".staged-x.tmp": [".staged-x.tmp"],
}

# How the table is opened.
ROOTS = ["path", "relative", "slash", "symlink", "url", "one slash", "host", "climbing"]


def opened(world: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(world.root.parent)
    url = world.root.as_uri()
    return {
        "path": str(world.root),
        "relative": "t",
        "slash": f"{world.root}/",
        "symlink": str(world.linked),
        "url": url,
        "one slash": url.replace("file://", "FILE:"),
        "host": url.replace("/t", "/%74").replace("file://", "file://localhost"),
        "climbing": str(world.root / "_delta_log" / ".."),
    }[how]


SIDECARS = {
    "{name}": ROWS,
    "%73idecar-0.parquet": ROWS,
    "_delta_log/_sidecars/{name}": ROWS,
    "./_delta_log//_sidecars/{name}": ROWS,
    **{
        spelling.replace("{name}", "_delta_log/_sidecars/{name}"): expected
        for spelling, expected in ABSOLUTE.items()
    },
    "../t/_delta_log/_sidecars/{name}": REFUSED,
    "../{name}": REFUSED,
    "{root}/{name}": REFUSED,
    "{root}/../outside/{name}": REFUSED,
}
