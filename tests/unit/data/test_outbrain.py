"""From raw files to features: the default data as a whole, and each feature on files worked by hand."""

import math
from statistics import median

import numpy as np
import polars as pl
import pytest

from seedstudy.data import outbrain
from seedstudy.data.generator import generate
from seedstudy.data.loading import load
from seedstudy.errors import UserError

from .conftest import DISPLAYS, LATE, hand_made, quiet

SEED = 3
ROWS = 90
DATA_HASH = "e0188bb1e1ea4bfb9b9c7afd8fd51b27f01c8fc64e320eb9c9c8b8d56fa09a55"


def splitmix64(state, number):
    """Output `number` (from 1) of the SplitMix64 generator of that state, in plain integers."""
    mask = 2**64 - 1
    z = (state + number * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def uniform(display, seed, stream):
    """Leading 53 bits of output `display` of the generator whose state is output 2 seed + stream + 1 of state 0."""
    return (splitmix64(splitmix64(0, 2 * seed + stream + 1), display) >> 11) / 2**53


def test_the_hash_is_splitmix64():
    # First outputs for seed 1234567, as published with the reference implementation.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [splitmix64(1234567, number) for number in (1, 2, 3)] == expected


# The default data.


def test_values_of_the_default_data_are_pinned(default_data):
    """A change here is a change of every study: raise RECIPE_VERSION with it."""
    assert default_data.manifest["recipe"] == {
        "version": 1,
        "source": "outbrain-generated",
        "displays": 16_000,
        "seed": 20261201,
    }
    assert default_data.manifest["data_hash"] == DATA_HASH
    assert load(default_data.folder).content_sha256() == DATA_HASH


def test_split_is_by_display_80_to_20_and_the_last_two_days_validate(default_data):
    events = pl.read_csv(default_data.raw / "events.csv", columns=["display_id", "timestamp"]).sort("display_id")
    day = events["timestamp"].to_numpy() // 86_400_000
    draws = np.array([uniform(display, 20261201, 0) for display in range(1, 16_001)])
    expected = set(np.flatnonzero((day < 11) & (draws < 0.8)) + 1)
    data = load(default_data.folder)
    train, valid = set(data.train.group.tolist()), set(data.valid.group.tolist())
    assert train == expected
    assert train | valid == set(range(1, 16_001))
    assert not train & valid
    assert len(train) / (day < 11).sum() == pytest.approx(0.8, abs=0.01)


def test_manifest_counts_the_splits(default_data):
    data = load(default_data.folder)
    for name, split in (("train", data.train), ("valid", data.valid)):
        found = default_data.manifest["splits"][name]
        assert found["rows"] == split.rows
        assert found["displays"] == found["positives"] == len(np.unique(split.group))
        assert found["content_sha256"] == split.content_sha256()


def test_baselines_are_near_those_of_the_public_files(default_data):
    # One public sample of displays: random order 0.481, smoothed click rate of the ad 0.573.
    found = default_data.manifest["baselines_map12"]
    assert found["random order"] == pytest.approx(0.48, abs=0.02)
    assert found["smoothed click rate of the ad"] == pytest.approx(0.57, abs=0.02)


def test_random_order_is_the_mean_of_the_harmonic_shares(default_data):
    """One click among n ads in random order: AP@12 is (1 + 1/2 + ... + 1/n) / n, with n at most 12."""
    groups = load(default_data.folder).valid.group
    sizes = np.unique(groups, return_counts=True)[1]
    expected = np.mean([sum(1 / rank for rank in range(1, n + 1)) / n for n in sizes])
    assert default_data.manifest["baselines_map12"]["random order"] == pytest.approx(expected, rel=1e-12)


def test_columns_are_those_of_the_reference_study(default_data):
    spec = load(default_data.folder).spec
    assert (len(spec.numeric), len(spec.onehot), len(spec.multihot)) == (13, 13, 3)
    assert {column.hotness for column in spec.multihot.values()} == {3}
    assert all(spec.onehot[name] <= outbrain.LARGEST[name] for name in spec.onehot)


def test_no_training_feature_depends_on_validation_displays(tmp_path):
    """Give validation displays other clicks, pages and places: features and labels of train stay bit for bit."""
    rows = generate(tmp_path, displays=1_000, seed=2)
    before = outbrain.prepare(tmp_path, rows=rows, seed=9, generated=True, progress=quiet)
    held_out = pl.col("display_id").is_in(before.valid["display_id"].unique().implode())
    clicks = pl.read_csv(tmp_path / "clicks_train.csv")
    first = (pl.int_range(pl.len()).over("display_id") == 0).cast(pl.Int64)
    clicks.with_columns(clicked=pl.when(held_out).then(first).otherwise("clicked")).write_csv(
        tmp_path / "clicks_train.csv"
    )
    events = pl.read_csv(tmp_path / "events.csv", infer_schema=False)
    held_out = pl.col("display_id").cast(pl.Int64).is_in(before.valid["display_id"].unique().implode())
    changed = {"document_id": pl.lit("1"), "geo_location": pl.lit("ZZ>99"), "platform": pl.lit("\\N")}
    events.with_columns(
        pl.when(held_out).then(value).otherwise(name).alias(name) for name, value in changed.items()
    ).write_csv(tmp_path / "events.csv")
    after = outbrain.prepare(tmp_path, rows=rows, seed=9, generated=True, progress=quiet)
    assert after.train.equals(before.train)
    assert (after.onehot, after.multihot) == (before.onehot, before.multihot)
    assert not after.valid["clicked"].equals(before.valid["clicked"])
    rates = [f"{key}_ctr" for key in outbrain.CLICK_RATES]
    assert after.valid.select(rates).equals(before.valid.select(rates))


# Files worked by hand: tests/unit/data/conftest.py has them.


@pytest.fixture
def prepared(raw_files):
    return outbrain.prepare(raw_files(), rows=ROWS, seed=SEED, generated=False, progress=quiet)


@pytest.fixture
def both(prepared):
    """All rows, with ad number 1, 2 or 3 in `ad`: rows are sorted by display, then ad."""
    rows = pl.concat([prepared.train, prepared.valid])
    return rows.with_columns(ad=1 + pl.int_range(pl.len()).over("display_id"))


TRAIN = [d for d in DISPLAYS if d not in LATE and uniform(d, SEED, 0) < 0.8]


def test_hand_made_split(prepared):
    assert prepared.train["display_id"].unique().sort().to_list() == TRAIN
    assert 15 <= len(TRAIN) <= 28
    assert set(prepared.valid["display_id"]) == set(DISPLAYS) - set(TRAIN)


def test_validation_rows_have_the_click_rates_of_all_training_rows(both):
    odd = sum(d % 2 for d in TRAIN)
    late = both.filter(pl.col("display_id").is_in(list(LATE)))
    for ad, clicks in ((1, odd), (2, len(TRAIN) - odd), (3, 0)):
        rows = late.filter(pl.col("ad") == ad)
        assert set(rows["ad_id_ctr"]) == {np.float32(clicks / len(TRAIN))}
    # Ads 1 and 2 are of one campaign, which has one click in two rows; ad 2's document has no source.
    assert set(late.filter(pl.col("ad") < 3)["campaign_id_ctr"]) == {0.5}
    assert set(late.filter(pl.col("ad") == 3)["campaign_id_ctr"]) == {0.0}
    assert set(late.filter(pl.col("ad") == 2)["source_id_promo_ctr"]) == {0.0}


def test_training_rows_have_the_click_rates_of_the_other_folds(both):
    fold = {d: int(5 * uniform(d, SEED, 1)) for d in TRAIN}
    for d in TRAIN:
        others = [other for other in TRAIN if fold[other] != fold[d]]
        rate = sum(other % 2 for other in others) / len(others)
        first = both.filter((pl.col("display_id") == d) & (pl.col("ad") == 1))
        assert first["ad_id_ctr"].item() == np.float32(rate)


def test_click_rate_of_few_rows_is_zero(raw_files):
    """Ad 3 in four training displays stays below the least count of 5."""
    extra = pl.DataFrame([(d, 3, 0) for d in TRAIN[:4]], ["display_id", "ad_id", "clicked"], orient="row")
    folder = raw_files(clicks_train=pl.concat([hand_made()["clicks_train"], extra]))
    found = outbrain.prepare(folder, rows=ROWS + 4, seed=SEED, generated=False, progress=quiet)
    # Ad 3 is the rarest of three, so it has code 3.
    assert set(found.valid.filter(pl.col("ad_id") == 3)["ad_id_ctr"]) == {0.0}
    counts = set(found.valid.filter(pl.col("ad_id") == 3)["ad_id_count"])
    assert counts == {np.float32(math.log(5) / math.log(1 + len(TRAIN)))}


def test_days_since_publication(both):
    # Display d of day 0 is 10 days and d half hours after the page's date; document 4 is older than 3,650 days.
    days = {d: 10 + d / 48 + (12 if d in LATE else 0) for d in DISPLAYS}
    middle = median(days[d] for d in TRAIN)
    for d, ad, page, promoted in both.select("display_id", "ad", *outbrain.AGES).iter_rows():
        assert page == pytest.approx(math.log1p(days[d]), rel=1e-6)
        assert promoted == pytest.approx(math.log1p({1: days[d], 2: middle, 3: 0.0}[ad]), rel=1e-6)


def test_similarity_is_the_cosine_of_tf_idf(both):
    # Documents 1, 2 and 3 are in train: topic 10 is in two of them, topic 20 in one.
    a, b = 0.6 * (math.log(4 / 3) + 1), 0.8 * (math.log(4 / 2) + 1)
    expected = {1: a / math.hypot(a, b), 2: 0.0, 3: 0.0}
    for ad, found in both.select("ad", "similarity_topic").iter_rows():
        assert found == pytest.approx(expected[ad], rel=1e-6)
    assert set(both["similarity_entity"]) == set(both["similarity_category"]) == {0.0}


def test_one_hot_codes_are_by_falling_frequency_in_train(both, prepared):
    # Ads 1 and 2 are as frequent, so the smaller id comes first; ad 3 is not in train.
    assert set(both.select("ad", "ad_id").iter_rows()) == {(1, 1), (2, 2), (3, 0)}
    assert set(both.select("ad", "source_id_promo").iter_rows()) == {(1, 1), (2, 0), (3, 0)}
    assert (prepared.onehot["ad_id"], prepared.onehot["source_id_promo"]) == (3, 2)
    late = pl.col("display_id").is_in(list(LATE))
    for name in ("geo_location", "geo_location_state", "geo_location_country"):
        assert set(both.filter(late)[name]) == {0}
    # "US>SC>519" of odd displays and "US" of even ones: one country, one state, of odd displays alone.
    early = both.filter(~late)
    assert set(early["geo_location_country"]) == {1}
    assert set(early.select(pl.col("display_id") % 2, "geo_location_state").iter_rows()) == {(1, 1), (0, 0)}
    assert set(both.filter(pl.col("display_id") == 40)["platform"]) == {0}


def test_multi_hot_lists_hold_the_three_terms_of_highest_confidence(both, prepared):
    # Codes: topics 10 to 50 are 1 to 5 (as frequent in train, by id); topic 60 is nobody's first three.
    found = {ad: tuple(topics) for ad, topics in both.select("ad", "topic_ids").iter_rows()}
    assert found == {1: (2, 1, 0), 2: (3, 4, 5), 3: (0, 0, 0)}
    assert prepared.multihot["topic_ids"].cardinality == 6
    # Document 4's category is of no training row.
    assert {tuple(row) for row in both["category_ids"]} == {(0, 0, 0)}
    assert prepared.multihot["category_ids"].cardinality == 2


def test_baseline_adds_ten_rows_at_the_overall_rate(prepared):
    n, odd = len(TRAIN), sum(d % 2 for d in TRAIN)
    scores = prepared.baselines["smoothed click rate of the ad"]
    expected = [(odd + 5) / (n + 10), (n - odd + 5) / (n + 10), 0.5]
    valid = prepared.valid.with_columns(score=pl.Series(scores)).filter(pl.col("display_id").is_in(list(LATE)))
    assert valid["score"].to_list() == pytest.approx(expected * len(LATE), rel=1e-12)


def test_order_of_rows_in_the_files_has_no_influence(raw_files, prepared):
    mixed = {name: table.sample(fraction=1, shuffle=True, seed=4) for name, table in hand_made().items()}
    found = outbrain.prepare(raw_files(**mixed), rows=ROWS, seed=SEED, generated=False, progress=quiet)
    assert found.train.equals(prepared.train)
    assert found.valid.equals(prepared.valid)


def test_other_number_of_rows_than_planned_is_refused(raw_files):
    with pytest.raises(
        UserError, match=r"clicks_train\.csv: has 90 rows, the plan says 87,141,731; mend .* data\.rows"
    ):
        outbrain.prepare(raw_files(), rows=87_141_731, seed=SEED, generated=False, progress=quiet)


def test_time_stamps_that_leave_no_training_row_are_refused(raw_files):
    late = hand_made()["events"].with_columns(timestamp=pl.lit(12 * 86_400_000))
    with pytest.raises(UserError, match=r"events\.csv: leaves a split without rows"):
        outbrain.prepare(raw_files(events=late), rows=ROWS, seed=SEED, generated=False, progress=quiet)
