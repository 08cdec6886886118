"""Leave-one-out splits, on tables small enough to work by hand; the real MovieLens is marked slow."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from seedstudy.data.interactions import hold_out, read_table
from seedstudy.data.others import draw_others
from seedstudy.data.prepare import prepare
from seedstudy.data.source import Interactions
from seedstudy.errors import UserError

from .conftest import quiet

WHERE = Path("table")
ROWS = [  # user, item, time
    ("b", 30, 5),
    ("b", 10, 9),
    ("b", 20, 9),  # at the same time as 10
    ("a", 10, 3),
    ("a", 40, 1),
    ("a", 10, 8),  # again
    ("c", 50, 1),
]


def table(rows=ROWS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["user", "item", "time"], orient="row")


def source(**changes) -> Interactions:
    fields = {"source": "interactions", "file": "t.csv", "min_interactions": 2, "negatives": 1}
    return Interactions.model_validate(fields | changes)


def pairs(frame: pl.DataFrame) -> list[tuple[int, int, int]]:
    return frame.select("user", "item", "interacted").rows()


def test_the_latest_of_each_user_is_held_out_and_small_users_are_dropped():
    made = hold_out(table(), source(negatives=1), WHERE)
    assert made.onehot == {"user": 2, "item": 4}  # a, b; 10, 20, 30, 40
    assert set(pairs(made.train)) in ({(0, 3, 1), (1, 2, 1), (1, 0, 1)}, {(0, 3, 1), (1, 2, 1), (1, 1, 1)})
    assert (0, 0, 1) in pairs(made.valid)
    assert made.valid["slate"].to_list() == [0, 0, 1, 1]


def test_the_first_of_duplicates_counts_where_asked_for():
    made = hold_out(table(), source(duplicates="first"), WHERE)
    # Of a, 10 was first touched at 3, still after 40.
    assert (0, 0, 1) in pairs(made.valid)
    swapped = table([("a", 10, 0), *ROWS[:3], ("a", 40, 1), ("a", 10, 8)])
    for duplicates, item in (("first", 3), ("last", 0)):
        assert (0, item, 1) in pairs(hold_out(swapped, source(duplicates=duplicates), WHERE).valid)


def test_of_interactions_at_the_same_time_each_is_the_latest_as_often():
    held_out = [pairs(hold_out(table(), source(seed=seed), WHERE).valid)[2] for seed in range(200)]
    assert set(held_out) == {(1, 0, 1), (1, 1, 1)}
    assert 70 < sum(item for _, item, _ in held_out) < 130  # 100 expected, SD 7


def test_duplicates_are_refused_where_asked_for():
    with pytest.raises(UserError, match="user a has item 10 more than once"):
        hold_out(table(), source(duplicates="refuse"), WHERE)


def test_the_order_of_rows_has_no_influence():
    rng = np.random.default_rng(2)
    expected = hold_out(table(), source(), WHERE)
    for _ in range(5):
        shuffled = [ROWS[place] for place in rng.permutation(len(ROWS))]
        found = hold_out(table(shuffled), source(), WHERE)
        assert found.train.equals(expected.train)
        assert found.valid.equals(expected.valid)


def test_negatives_are_drawn_evenly_from_all_that_the_user_never_touched():
    rng = np.random.default_rng(3)
    rows = [(user, int(item), n) for user in range(40) for n, item in enumerate(rng.choice(30, 12, replace=False))]
    touched = {(user, item) for user, item, _ in rows}
    seen = np.zeros(30)
    for seed in range(60):
        made = hold_out(table(rows), source(negatives=6, seed=seed), WHERE)
        negatives = [(user, item) for user, item, label in pairs(made.valid) if not label]
        assert len(set(negatives)) == len(negatives) == 40 * 6
        assert not touched & set(negatives)
        seen += np.bincount([item for _, item in negatives], minlength=30)
    # Each user leaves 18 items and is offered 6: an untouched item is drawn with probability 1/3.
    free = 40 - np.bincount([item for _, item, _ in rows], minlength=30)
    expected = 60 * free / 3
    assert (np.abs(seen - expected) < 5 * np.sqrt(60 * free * 2 / 9)).all()


def test_what_is_drawn_does_not_depend_on_how_many_rows_are_worked_on_at_once(monkeypatch):
    excluded = np.random.default_rng(1).random((50, 20)) < 0.3

    def drawn():
        return np.sort(draw_others(np.random.default_rng(7), (50, 20), 5, lambda part: excluded[part]), axis=1)

    whole = drawn()
    monkeypatch.setattr("seedstudy.data.others.AT_ONCE", 60)
    assert (drawn() == whole).all()


def test_a_user_who_leaves_too_few_items_is_refused():
    with pytest.raises(UserError, match="negatives"):
        hold_out(table(), source(negatives=2), WHERE)  # a leaves 20, 30; b leaves only 40
    with pytest.raises(UserError, match="no user has 9"):
        hold_out(table(), source(min_interactions=9), WHERE)


TEXTS = {
    "t.csv": "userId,movieId,rating,timestamp\n1,10,4.0,5\n2,20,3.5,6\n",
    "t.tsv": "userId\tmovieId\trating\ttimestamp\n1\t10\t4.0\t5\n2\t20\t3.5\t6\n",
    "t.inter": "userId:token\tmovieId:token\trating:float\ttimestamp:float\n1\t10\t4.0\t5\n2\t20\t3.5\t6\n",
    "t.dat": "1::10::4::5\n2::20::3::6\n",
}
NAMES = source(user="userId", item="movieId", time="timestamp")


@pytest.mark.parametrize("name", [*TEXTS, "t.parquet"])
def test_each_kind_of_file_gives_the_same_table(tmp_path, name):
    path = tmp_path / name
    if name == "t.parquet":
        pl.DataFrame({"timestamp": [5, 6], "userId": [1, 2], "movieId": [10, 20]}).write_parquet(path)
    else:
        path.write_text(TEXTS[name])
    found = read_table(path, NAMES)
    assert found.columns == ["user", "item", "time"]
    assert [[int(value) for value in row] for row in found.rows()] == [[1, 10, 5], [2, 20, 6]]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "user,item,time\n1,2,3\n", "column userId: missing"),
        ("t.csv", "userId,movieId,timestamp\n1,2,3\n1,,4\n", "row 1: column movieId: is empty"),
        ("t.csv", "userId,movieId,timestamp\n1,2,soon\n", "column timestamp: is String"),
        ("t.dat", "1::2\n", "column time: is empty"),
        ("t.dat", "1::2::3::x\n", "t.dat"),
        ("t.txt", "1 2 3\n", "suffix .txt"),
        ("t.csv", "", "t.csv"),
        ("t.parquet", "no parquet", "t.parquet"),
    ],
)
def test_a_bad_table_is_one_line_with_file_and_column(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_table(path, NAMES)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_table_and_a_cut_down_one_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"t\.csv"):
        read_table(tmp_path / "t.csv", NAMES)
    (tmp_path / "t.csv").write_text(TEXTS["t.csv"])
    cut = source(file=str(tmp_path / "t.csv"), user="userId", item="movieId", time="timestamp", rows=3)
    with pytest.raises(UserError, match=r"has 2 rows, data\.rows says 3"):
        prepare(cut, tmp_path / "out", progress=quiet)


@pytest.mark.slow
def test_real_movielens_held_out(tmp_path):
    """943 users; popularity has an HR@10 of .417 elsewhere, and .390 to .412 over three orders of equal times."""
    manifest = prepare(Interactions(source="interactions"), tmp_path / "ml", progress=quiet)
    assert manifest["splits"]["train"]["rows"] == 100_000 - 943
    assert manifest["splits"]["valid"]["rows"] == 943 * 101
    assert manifest["splits"]["valid"]["positives"] == 943
    found = manifest["baselines_hr10"]
    assert found["random order"] == pytest.approx(10 / 101, rel=1e-12)
    assert found["popularity in train"] == pytest.approx(0.417, abs=0.035)
