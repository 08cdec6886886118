"""The prepared data of the default plan, a small Parquet data set, raw files made by hand, and the command line."""

import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedstudy import cli
from seedstudy.data.prepare import prepare
from seedstudy.study import ROOT, load_plan


def quiet(line):
    """Takes lines of progress."""


@pytest.fixture(scope="session")
def default_data(tmp_path_factory):
    """What `seedstudy data prepare` makes of config/default.yaml: ``folder``, ``raw`` and ``manifest``."""
    base = tmp_path_factory.mktemp("default")
    source = load_plan(ROOT / "config" / "default.yaml").data
    manifest = prepare(source, base / "data", raw=base / "raw", progress=quiet)
    return SimpleNamespace(folder=base / "data", raw=base / "raw", manifest=manifest)


@pytest.fixture
def command(monkeypatch, capsys):
    """Return a function that runs the command line in this process: exit code, output, error output."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["seedstudy", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        written = capsys.readouterr()
        return end.value.code or 0, written.out, written.err

    return run


SPEC = """\
name: small
group: slate
label: liked
numeric: [price]
onehot: {shop: 4}
multihot: {tags: {cardinality: 5, hotness: 2}}
splits: {train: {file: train.parquet}, valid: {file: valid.parquet}}
"""


def pairs(rows, type_=None):
    """Column of pairs, by default of int32."""
    return pa.array(rows, pa.list_(type_ or pa.int32(), 2))


def small_columns():
    """The four rows of `small`, by column."""
    return {
        "slate": pa.array([7, 7, 8, 8]),
        "liked": pa.array([1, 0, 0, 1], pa.int8()),
        "price": pa.array([0.5, 1.5, -2.0, 0.0]),
        "shop": pa.array([0, 3, 1, 2], pa.int16()),
        "tags": pairs([[1, 4], [2, 0], [0, 0], [3, 3]]),
    }


@pytest.fixture
def small(tmp_path):
    """Return a function that writes a data set of four rows, some columns (None: left out) or its text replaced."""

    def write(text: dict[str, str] | None = None, **columns) -> Path:
        table = {name: values for name, values in (small_columns() | columns).items() if values is not None}
        pq.write_table(pa.table(small_columns()), tmp_path / "train.parquet")
        pq.write_table(pa.table(table), tmp_path / "valid.parquet")
        content = SPEC
        for old, new in (text or {}).items():
            assert old in content
            content = content.replace(old, new)
        (tmp_path / "spec.yaml").write_text(content)
        return tmp_path / "spec.yaml"

    return write


HOUR_MS = 3_600_000
DISPLAYS = range(1, 41)
LATE = range(31, 41)
"""Displays of day 12, which never train."""


def hand_made():
    """Forty displays of page 1: ads 1 and 2 (documents 2 and 3), in the ten of day 12 also ad 3 (document 4).

    Odd displays click ad 1, even ones ad 2. Display d of day 0 is d half hours after the offset (2 ms before 4:00).
    """
    clicks = [(d, ad, int(ad == 2 - d % 2)) for d in DISPLAYS for ad in ((1, 2, 3) if d in LATE else (1, 2))]
    place = {d: "FR>A7" if d in LATE else "US>SC>519" if d % 2 else "US" for d in DISPLAYS}
    time = {d: 2 + d * HOUR_MS // 2 + (12 * 24 * HOUR_MS if d in LATE else 0) for d in DISPLAYS}
    return {
        "clicks_train": pl.DataFrame(clicks, ["display_id", "ad_id", "clicked"], orient="row"),
        "events": pl.DataFrame(
            [(d, f"u{d}", 1, time[d], "\\N" if d == 40 else "2", place[d]) for d in DISPLAYS],
            ["display_id", "uuid", "document_id", "timestamp", "platform", "geo_location"],
            orient="row",
        ),
        "promoted_content": pl.DataFrame(
            {"ad_id": [1, 2, 3], "document_id": [2, 3, 4], "campaign_id": [7, 7, 8], "advertiser_id": [1, 1, 1]}
        ),
        "documents_meta": pl.DataFrame(
            {
                "document_id": [1, 2, 3, 4],
                "source_id": [5, 5, None, 6],
                "publisher_id": [1, 1, 1, 1],
                "publish_time": ["2016-06-04 04:00:00", "2016-06-04 04:00:00", None, "1990-01-01 00:00:00"],
            }
        ),
        "documents_topics": pl.DataFrame(
            {
                "document_id": [1, 2, 2, 3, 3, 3, 3],
                "topic_id": [10, 10, 20, 30, 40, 50, 60],
                "confidence_level": [1.0, 0.6, 0.8, 0.5, 0.4, 0.3, 0.2],
            }
        ),
        "documents_entities": pl.DataFrame({"document_id": [], "entity_id": [], "confidence_level": []}),
        "documents_categories": pl.DataFrame({"document_id": [4], "category_id": [1403], "confidence_level": [0.9]}),
    }


@pytest.fixture
def raw_files(tmp_path):
    """Return a function that writes the hand-made raw files, some tables (None: left out) replaced."""

    def write(**tables) -> Path:
        folder = tmp_path / "raw"
        folder.mkdir(exist_ok=True)
        for name, table in (hand_made() | tables).items():
            if table is not None:
                table.write_csv(folder / f"{name}.csv")
        return folder

    return write
