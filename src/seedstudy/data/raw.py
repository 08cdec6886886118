"""Reading the raw files of the Outbrain competition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from seedstudy.errors import UserError

_INTEGER, _TEXT, _NUMBER = pl.Int64(), pl.String(), pl.Float64()
FILES: dict[str, dict[str, pl.DataType]] = {
    "clicks_train": {"display_id": _INTEGER, "ad_id": _INTEGER, "clicked": _INTEGER},
    "events": {
        "display_id": _INTEGER,
        "document_id": _INTEGER,
        "timestamp": _INTEGER,
        "platform": _TEXT,
        "geo_location": _TEXT,
    },
    "promoted_content": {
        "ad_id": _INTEGER,
        "document_id": _INTEGER,
        "campaign_id": _INTEGER,
        "advertiser_id": _INTEGER,
    },
    "documents_meta": {
        "document_id": _INTEGER,
        "source_id": _INTEGER,
        "publisher_id": _INTEGER,
        "publish_time": _TEXT,
    },
    "documents_topics": {"document_id": _INTEGER, "topic_id": _INTEGER, "confidence_level": _NUMBER},
    "documents_entities": {"document_id": _INTEGER, "entity_id": _TEXT, "confidence_level": _NUMBER},
    "documents_categories": {"document_id": _INTEGER, "category_id": _INTEGER, "confidence_level": _NUMBER},
}
"""Columns that are used, and their types."""

MAY_BE_MISSING = {"platform", "geo_location", "source_id", "publisher_id", "publish_time"}


@dataclass(frozen=True)
class RawFiles:
    """The joined rows, and the terms of documents.

    Parameters
    ----------
    rows : pl.DataFrame
        One row a shown ad, sorted by display and ad (so that the order in the file has no influence): the click, the
        event, the ad, and the metadata of the page and, with suffix ``_promo``, of the promoted document.
    terms : dict of str to pl.DataFrame
        For ``topic``, ``entity``, ``category``: document_id, the term's id, confidence_level.
    """

    rows: pl.DataFrame
    terms: dict[str, pl.DataFrame]


def read_raw(folder: Path) -> RawFiles:
    """Read and join the raw files.

    Parameters
    ----------
    folder : Path
        The seven CSV files.

    Returns
    -------
    RawFiles

    Raises
    ------
    UserError
        If a file or column is missing, a value has the wrong type, a key is there twice, or a display's event or an
        ad's content is missing. Documents without metadata are normal: their values are missing.
    """
    clicks = _read(folder, "clicks_train", ["display_id", "ad_id"])
    if not clicks["clicked"].is_in([0, 1]).all():
        raise UserError(f"{folder / 'clicks_train.csv'}: column clicked", "has a value other than 0 and 1")
    events = _read(folder, "events", ["display_id"])
    ads = _read(folder, "promoted_content", ["ad_id"]).rename({"document_id": "document_id_promo"})
    meta = _read(folder, "documents_meta", ["document_id"])
    _require(clicks, events, "display_id", folder / "events.csv")
    _require(clicks, ads, "ad_id", folder / "promoted_content.csv")
    place = pl.col("geo_location").str.split_exact(">", 2).struct
    events = events.with_columns(
        geo_location_country=place.field("field_0"),
        geo_location_state=pl.when(place.field("field_1").is_not_null()).then(
            pl.col("geo_location").str.extract("^([^>]*>[^>]*)")
        ),
    )
    promoted = meta.rename({name: f"{name}_promo" for name in meta.columns})
    rows = (
        clicks.join(events, on="display_id", how="left")
        .join(ads, on="ad_id", how="left")
        .join(meta, on="document_id", how="left")
        .join(promoted, on="document_id_promo", how="left")
        .sort("display_id", "ad_id")
    )
    kinds = {"topic": "documents_topics", "entity": "documents_entities", "category": "documents_categories"}
    return RawFiles(rows, {kind: _read(folder, name, None) for kind, name in kinds.items()})


def _read(folder: Path, name: str, key: list[str] | None) -> pl.DataFrame:
    path = folder / f"{name}.csv"
    types = FILES[name]
    if not path.is_file():
        raise UserError(path, "missing; the folder must hold the competition's seven CSV files, unpacked")
    try:
        names = pl.read_csv(path, n_rows=0, infer_schema=False, glob=False).columns
        missing = sorted(set(types) - set(names))
        if missing:
            raise UserError(f"{path}: column {missing[0]}", "missing")
        frame = pl.read_csv(path, columns=list(types), schema_overrides=types, null_values=["\\N", ""], glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UserError(path, f"{str(error).splitlines()[0]}; unpack the competition's file again") from None
    frame = frame.select(list(types))
    for column in types:
        if column in MAY_BE_MISSING:
            continue
        bad = frame[column].is_null()
        if types[column].is_float():
            bad |= ~frame[column].is_finite().fill_null(False)
        if bad.any():
            row = (bad.arg_max() or 0) + 2
            raise UserError(f"{path}: line {row}: column {column}", "is empty or not finite; fill it in")
    if key is not None and frame.select(pl.struct(key).is_duplicated().any()).item():
        twice = frame.filter(pl.struct(key).is_duplicated()).row(0, named=True)
        shown = ", ".join(f"{column} {twice[column]}" for column in key)
        raise UserError(path, f"{shown} is there more than once")
    return frame


def _require(clicks: pl.DataFrame, other: pl.DataFrame, key: str, path: Path) -> None:
    absent = clicks.join(other, on=key, how="anti")
    if absent.height:
        raise UserError(path, f"lacks {key} {absent[key].sort()[0]}, which clicks_train.csv has")
