"""Raw files that are not as expected: one line with file, and column or key."""

import math

import polars as pl
import pytest

from seedstudy.data.raw import FILES, read_raw
from seedstudy.errors import UserError

from .conftest import hand_made


def changed(name, **columns):
    return {name: hand_made()[name].with_columns(**columns)}


def first(column, value):
    """The column as text with its first value replaced."""
    return pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(value)).otherwise(pl.col(column).cast(pl.String))


BROKEN = {
    "file missing": (
        {"documents_meta": None},
        r"documents_meta\.csv: missing; the folder must hold .* seven CSV files",
    ),
    "column missing": ({"events": hand_made()["events"].drop("platform")}, r"events\.csv: column platform: missing"),
    "text for a number": (
        changed("clicks_train", ad_id=first("ad_id", "x7")),
        r"clicks_train\.csv: .*x7.* at column 'ad_id'",
    ),
    "empty key": (
        changed("promoted_content", document_id=first("document_id", None)),
        r"promoted_content\.csv: line 2: column document_id: is empty",
    ),
    "confidence NaN": (
        changed("documents_topics", confidence_level=first("confidence_level", math.nan)),
        r"documents_topics\.csv: line 2: column confidence_level: is empty or not finite; fill it in",
    ),
    "clicked is 2": (
        changed("clicks_train", clicked=first("clicked", "2")),
        r"clicks_train\.csv: column clicked: has a value other than 0 and 1",
    ),
    "ad twice in a display": (
        {"clicks_train": pl.concat([hand_made()["clicks_train"], hand_made()["clicks_train"].head(1)])},
        r"clicks_train\.csv: display_id 1, ad_id 1 is there more than once",
    ),
    "display twice": (
        {"events": pl.concat([hand_made()["events"], hand_made()["events"].tail(1)])},
        r"events\.csv: display_id 40 is there more than once",
    ),
    "display without event": (
        {"events": hand_made()["events"].filter(pl.col("display_id") != 17)},
        r"events\.csv: lacks display_id 17, which clicks_train\.csv has",
    ),
    "ad without content": (
        {"promoted_content": hand_made()["promoted_content"].head(2)},
        r"promoted_content\.csv: lacks ad_id 3, which clicks_train\.csv has",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_one_line(raw_files, case):
    tables, message = BROKEN[case]
    with pytest.raises(UserError, match=message) as error:
        read_raw(raw_files(**tables))
    assert "\n" not in str(error.value)


def test_text_that_is_no_csv_is_one_line(raw_files):
    folder = raw_files()
    (folder / "events.csv").write_bytes(b"")
    with pytest.raises(UserError, match=r"events\.csv: "):
        read_raw(folder)


def test_missing_values_and_documents_without_metadata_are_normal(raw_files):
    meta = hand_made()["documents_meta"].filter(pl.col("document_id") != 4)
    rows = read_raw(raw_files(documents_meta=meta)).rows
    assert rows.height == 90
    third = rows.filter(pl.col("ad_id") == 3)
    assert third["publisher_id_promo"].null_count() == third.height == 10
    assert rows.filter(pl.col("display_id") == 40)["platform"].null_count() == 3


def test_columns_that_are_not_used_may_be_there_or_not(raw_files):
    assert "uuid" not in FILES["events"]
    without = read_raw(raw_files(events=hand_made()["events"].drop("uuid"))).rows
    more = changed("clicks_train", note=pl.lit("x")) | changed("events", note=pl.lit("y"))
    assert read_raw(raw_files(**more)).rows.equals(without)
