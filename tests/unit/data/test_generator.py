"""The generated raw files: columns, quirks and distributions of the public competition files.

Numbers without another source are the figures of the public files: counts of its tables, shares of its displays.
A share is checked to four standard deviations of its sampling error; the draws are fixed, so nothing is left to chance.
"""

import re

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2, chisquare, poisson

from seedstudy.data.generator import AD_ROWS, AD_SURVIVAL, ADS, generate

HEADERS = {
    "clicks_train": "display_id,ad_id,clicked",
    "events": "display_id,uuid,document_id,timestamp,platform,geo_location",
    "promoted_content": "ad_id,document_id,campaign_id,advertiser_id",
    "documents_meta": "document_id,source_id,publisher_id,publish_time",
    "documents_topics": "document_id,topic_id,confidence_level",
    "documents_entities": "document_id,entity_id,confidence_level",
    "documents_categories": "document_id,category_id,confidence_level",
}
SIZES = {2: 8.1, 3: 9.4, 4: 31.7, 5: 8.8, 6: 25.7, 7: 0.8, 8: 6.6, 9: 6.5, 10: 2.3, 12: 0.1}


@pytest.fixture(scope="module")
def table(default_data):
    """Return a function that reads a raw file of the default data as text."""
    return lambda name: pl.read_csv(default_data.raw / f"{name}.csv", infer_schema=False)


@pytest.fixture(scope="module")
def clicks(table):
    return table("clicks_train").cast(pl.Int64)


def assert_share(found, expected, trials):
    assert abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / trials), (found, expected)


def test_seven_files_with_the_columns_of_the_competition(default_data):
    found = {path.stem: path.read_text().split("\n", 1)[0] for path in default_data.raw.iterdir()}
    assert found == HEADERS


def test_ads_a_display_have_the_public_shares(clicks):
    sizes = clicks.group_by("display_id").len()["len"].to_numpy()
    observed = [int((sizes == size).sum()) for size in SIZES]
    assert sum(observed) == 16_000
    assert chisquare(observed, np.array(list(SIZES.values())) * 160).pvalue > 0.01
    assert abs(sizes.mean() - 5.164) < 4 * sizes.std() / np.sqrt(16_000)


def test_exactly_one_click_a_display_and_no_ad_twice(clicks):
    assert (clicks.group_by("display_id").agg(pl.col("clicked").sum())["clicked"] == 1).all()
    assert not clicks.select("display_id", "ad_id").is_duplicated().any()
    assert_share(clicks["clicked"].mean(), 0.1936, clicks.height)


def test_position_of_the_click_is_uniform(clicks):
    """Pearson's chi-square, summed over display sizes; null: each position of a display is clicked equally often."""
    placed = clicks.with_columns(
        position=pl.int_range(pl.len()).over("display_id"), size=pl.len().over("display_id")
    ).filter(pl.col("clicked") == 1)
    statistic, freedom = 0.0, 0
    for size in SIZES:
        counts = np.bincount(placed.filter(pl.col("size") == size)["position"], minlength=size)
        if counts.sum() >= 5 * size:
            statistic += chisquare(counts).statistic
            freedom += size - 1
    assert freedom == sum(size - 1 for size in SIZES if size != 12)
    assert chi2.sf(statistic, freedom) > 0.01


def test_counts_of_ads_and_documents_scale_with_displays(table):
    # 559,583, 185,709 and 2,999,334 times 16,000 / 16,874,593.
    promoted = table("promoted_content")
    assert promoted.height == promoted["ad_id"].n_unique() == 531
    assert promoted["document_id"].n_unique() == 176
    assert table("documents_meta").height == 2_844


def test_every_reference_leads_somewhere(table, clicks):
    documents = set(table("documents_meta")["document_id"])
    assert set(table("events")["document_id"]) <= documents
    assert set(table("promoted_content")["document_id"]) <= documents
    assert set(clicks["ad_id"].cast(pl.String)) <= set(table("promoted_content")["ad_id"])
    assert set(clicks["display_id"].cast(pl.String)) == set(table("events")["display_id"])


def test_platforms_have_the_public_shares_and_a_few_are_missing(table):
    platform = table("events")["platform"]
    assert set(platform) == {"1", "2", "3", "\\N"}
    for name, share in (("1", 0.3905), ("2", 0.4747), ("3", 0.1348), ("\\N", 3e-4)):
        assert_share((platform == name).mean(), share, len(platform))


def test_places_are_mostly_in_the_us_and_miss_parts(table):
    place = table("events")["geo_location"]
    assert all(re.fullmatch(r"([A-Z]{2}(>[A-Z0-9]{2}(>\d{3})?)?)?", name) for name in place.unique())
    assert_share(place.str.starts_with("US").mean(), 0.80, len(place))
    parts = place.str.count_matches(">")
    assert {0, 1, 2} == set(parts)
    assert 0 < (place == "").sum() < 0.01 * len(place)


def test_most_users_have_one_display(table):
    views = table("events").group_by("uuid").len()["len"]
    assert_share((views == 1).mean(), 0.884, len(views))
    assert_share((views == 2).mean(), 0.086, len(views))
    assert table("events")["uuid"].str.contains(r"^[0-9a-f]{14}$").all()


def test_time_stamps_count_from_the_offset_and_cover_days_0_to_12(table):
    time = table("events")["timestamp"].cast(pl.Int64)
    assert time.is_sorted()
    assert time.min() >= 61
    assert time.max() < 13 * 86_400_000
    assert set(time // 86_400_000) == set(range(13))


def test_metadata_of_documents_is_incomplete_and_its_dates_are_not_all_sane(table):
    meta = table("documents_meta")
    for column, share in (("source_id", 0.02), ("publisher_id", 0.03), ("publish_time", 0.34)):
        assert_share(meta[column].is_null().mean(), share, meta.height)
    published = meta["publish_time"].drop_nulls()
    assert published.str.contains(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$").all()
    assert published.min() < "1970"
    assert published.max() > "2016-07-14"


@pytest.mark.parametrize(
    ("name", "documents", "rows"),
    [
        ("topic", 2_495_423, 11_325_960),
        ("entity", 1_791_420, 5_537_552),
        ("category", 2_828_649, 5_481_475),
    ],
)
def test_terms_of_documents_have_the_public_coverage(table, name, documents, rows):
    terms = table({"topic": "documents_topics", "entity": "documents_entities"}.get(name, "documents_categories"))
    having = terms["document_id"].n_unique()
    assert_share(having / 2_844, documents / 2_999_334, 2_844)
    assert terms.height / having == pytest.approx(rows / documents, rel=0.1)
    assert not terms.select("document_id", f"{name}_id").is_duplicated().any()
    assert terms["confidence_level"].cast(pl.Float64).is_between(0, 1).all()


def test_vocabularies_of_terms_have_the_public_form(table):
    assert table("documents_topics")["topic_id"].n_unique() == 300
    category = table("documents_categories")["category_id"]
    assert category.n_unique() == 97
    assert category.str.contains(r"^[12]\d{3}$").all()
    assert table("documents_entities")["entity_id"].str.contains("^[0-9a-f]{32}$").all()


def test_law_of_ad_popularity_gives_the_public_shares_at_full_scale():
    """Rows of an ad as a Poisson draw; shares of the ads that turn up, to a tenth (seen once: to four points)."""
    survival = (np.arange(ADS) + 0.5) / ADS
    mean = np.exp(np.interp(np.log(survival), np.log(AD_SURVIVAL), np.log(AD_ROWS)))
    mean *= 87_141_731 / mean.sum()
    seen = poisson.sf(0, mean).sum()
    assert seen == pytest.approx(478_950, rel=0.02)
    assert poisson.pmf(1, mean).sum() / seen == pytest.approx(0.227, abs=0.04)
    for count, share in ((5, 0.493), (100, 0.089), (1_000, 0.026)):
        assert poisson.sf(count, mean).sum() / seen == pytest.approx(share, rel=0.1)


def test_no_ad_takes_much_more_than_three_percent_of_the_rows(clicks):
    assert 0.02 < clicks.group_by("ad_id").len()["len"].max() / clicks.height < 0.033


def test_click_follows_the_match_of_page_and_ad(default_data):
    """The planted effect: clicked ads are nearer to the page than the others by all three kinds of terms."""
    valid = pl.read_parquet(default_data.folder / "valid.parquet")
    for kind in ("topic", "entity", "category"):
        means = valid.group_by("clicked").agg(pl.col(f"similarity_{kind}").mean()).sort("clicked")
        not_clicked, clicked = means[f"similarity_{kind}"]
        assert clicked > 1.5 * not_clicked


def test_bytes_are_a_function_of_displays_and_seed(tmp_path):
    def made(name, **settings):
        rows = generate(tmp_path / name, **settings)
        files = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        assert files["clicks_train.csv"].count(b"\n") == rows + 1
        return files

    first = made("a", displays=1_000, seed=5)
    assert made("b", displays=1_000, seed=5) == first
    seed, displays = made("c", displays=1_000, seed=6), made("d", displays=2_000, seed=5)
    assert all(seed[name] != content != displays[name] for name, content in first.items())
