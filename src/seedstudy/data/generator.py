"""Generated files of the form of the Outbrain click prediction competition, with a planted click model.

The columns, the quirks (``\\N``, missing parts of places, time stamps counted from an offset, documents without
metadata) and the distributions are those of the public files. Numbers of ads and documents are proportional to the
number of displays, so that rows per ad and per document stay as in the full set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TIME_OFFSET_MS = 1_465_876_799_998
"""Milliseconds since 1970 at which the competition's time stamps begin."""

DAY_MS = 86_400_000
TRAIN_DAYS = 13

# Facts of the full public files.
FULL_DISPLAYS = 16_874_593
ADS, PROMOTED_DOCUMENTS = 559_583, 185_709
VIEWED_DOCUMENTS = round(894_060 * FULL_DISPLAYS / 23_120_126)
DOCUMENTS, ENTITIES, TOPICS, CATEGORIES = 2_999_334, 1_326_009, 300, 97
DISPLAY_SIZES = np.array([2, 3, 4, 5, 6, 7, 8, 9, 10, 12])
DISPLAY_PERCENT = np.array([8.1, 9.4, 31.7, 8.8, 25.7, 0.8, 6.6, 6.5, 2.3, 0.1])
PLATFORM_PERCENT = np.array([39.05, 47.47, 13.48])
USER_PERCENT = np.array([88.4, 8.6, 1.9, 0.6, 0.3, 0.2])
"""Users with 1, 2, ... displays; beyond 2 the public figures give only the sum."""

# Nodes of the distribution of the expected rows of an ad: survival function and rows. Fitted so that, of the ads
# that turn up at all, the shares seen once, > 5, > 100 and > 1,000 times are near the public 22.7, 49.3, 8.9, 2.6 %.
AD_SURVIVAL = np.array([2e-6, 0.00414, 0.026, 0.089, 0.493, 1.0])
AD_ROWS = np.array([211_824.0, 10_000.0, 639.0, 56.3, 3.05, 0.5])
TOP_AD_SHARE = 0.03
"""Bound on one ad's share of the rows: at a small scale the tail would put the top ad on most displays."""

THEMES = 6
"""Latent themes of documents; topics, entities and categories follow from them."""

THEME_SHAPE = 0.05
"""Shape of the gamma draws behind a document's themes: a small one makes it mostly of one theme."""

TERM_CONCENTRATION = 4.0
"""How much of a theme's terms are its first few: what two documents of one theme have in common."""

# Weights of the parts of an ad's utility, chosen so that random order, the ads' click rates and Wide & Deep come near
# the MAP@12 of the public files: 0.48, 0.57 and 0.65.
AD_QUALITY = 0.6
THEME_MATCH = 3.0
PLATFORM_TASTE = 0.4
PLACE_TASTE = 0.2
CHUNK = 1_000_000


@dataclass(frozen=True)
class _World:
    """All that exists before anybody views a page; ids are row numbers."""

    theme: Floats  # (documents, themes), rows sum to 1
    source: Ints  # (documents,)
    publisher: Ints  # (documents,)
    viewed: Ints  # documents that are viewed, most viewed first
    document: Ints  # (ads,) promoted document
    campaign: Ints  # (ads,)
    advertiser: Ints  # (ads,)
    weight: Floats  # (ads,) sums to 1
    quality: Floats  # (ads,) about standard normal


@dataclass(frozen=True)
class _Events:
    """Who viewed what, where and when, one a display."""

    document: Ints
    platform: Ints  # 0 missing, 1 to 3
    place: Ints  # row of the table of places
    frame: pl.DataFrame


def generate(folder: Path, *, displays: int, seed: int) -> int:
    """Write the seven raw files.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    displays : int
        Number of displays; each has one click.
    seed : int
        Everything is a function of ``displays`` and ``seed``.

    Returns
    -------
    int
        Rows of ``clicks_train.csv``.

    Notes
    -----
    Of a display's ads one is clicked: ad a with probability proportional to exp(utility(a)), where the utility is the
    sum of the ad's quality (its own and that of its document, publisher, campaign and advertiser), of the match
    between the themes of its document and of the page, and of the taste of the platform and of the place for its
    document's themes: a conditional logit (McFadden, 1974). Position has no part in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(6)]
    world = _world(displays, rng[0])
    _write_documents(folder, world, displays, rng[1])
    events = _events(world, displays, rng[2])
    events.frame.write_csv(folder / "events.csv")
    sizes = rng[3].choice(DISPLAY_SIZES, size=displays, p=DISPLAY_PERCENT / DISPLAY_PERCENT.sum())
    display = np.repeat(np.arange(displays), sizes)
    ad = _draw_ads(world, display, rng[4])
    clicked = _click(world, events, display, ad, rng[5])
    clicks = pl.DataFrame({"display_id": display + 1, "ad_id": ad + 1, "clicked": clicked.astype(np.int8)})
    clicks.write_csv(folder / "clicks_train.csv")
    return clicks.height


def _scaled(displays: int, full: int, least: int) -> int:
    return max(least, round(full * displays / FULL_DISPLAYS))


def _world(displays: int, rng: np.random.Generator) -> _World:
    documents = _scaled(displays, DOCUMENTS, 200)
    promoted = _scaled(displays, PROMOTED_DOCUMENTS, 30)
    ads = _scaled(displays, ADS, 60)
    theme = rng.gamma(THEME_SHAPE, size=(documents, THEMES)) + 1e-9
    theme /= theme.sum(axis=1, keepdims=True)
    # Square roots that reach the cardinalities of the published feature set at full scale.
    sources, publishers = max(16, round(2.3 * documents**0.5)), max(8, round(0.58 * documents**0.5))
    campaigns, advertisers = max(16, round(6.7 * ads**0.5)), max(8, round(3.3 * ads**0.5))
    source = rng.integers(sources, size=documents)
    publisher = rng.integers(publishers, size=sources)[source]
    shuffled = rng.permutation(documents)
    # Every promoted document has an ad; the other ads share them.
    owner = np.concatenate([np.arange(min(promoted, ads)), rng.integers(promoted, size=max(0, ads - promoted))])
    document = shuffled[rng.permutation(owner)]
    campaign = rng.integers(campaigns, size=ads)
    advertiser = rng.integers(advertisers, size=campaigns)[campaign]
    survival = (np.arange(ads) + 0.5) / ads
    weight = rng.permutation(np.exp(np.interp(np.log(survival), np.log(AD_SURVIVAL), np.log(AD_ROWS))))
    for _ in range(100):
        weight = np.minimum(weight / weight.sum(), max(TOP_AD_SHARE, 2 / ads))
    keys = (np.arange(ads), document, publisher[document], campaign, advertiser)
    quality = np.zeros(ads)
    for share, key in zip((0.4, 0.2, 0.15, 0.15, 0.1), keys, strict=True):
        quality += share**0.5 * rng.normal(size=int(key.max()) + 1)[key]
    return _World(
        theme=theme,
        source=source,
        publisher=publisher,
        viewed=shuffled[-_scaled(displays, VIEWED_DOCUMENTS, 40) :],
        document=document,
        campaign=campaign,
        advertiser=advertiser,
        weight=weight / weight.sum(),
        quality=quality,
    )


def _write_documents(folder: Path, world: _World, displays: int, rng: np.random.Generator) -> None:
    documents = len(world.theme)
    pl.DataFrame(
        {
            "ad_id": np.arange(len(world.document)) + 1,
            "document_id": world.document + 1,
            "campaign_id": world.campaign + 1,
            "advertiser_id": world.advertiser + 1,
        }
    ).write_csv(folder / "promoted_content.csv")
    # Whole seconds before the first event; a few are decades old or in the future, as in the public files.
    age = np.minimum(rng.exponential(300 * 86_400, size=documents), 4_000 * 86_400).astype(np.int64)
    odd = rng.random(documents)
    age = np.where(odd < 0.005, age + 20_000 * 86_400, np.where(odd > 0.995, -(age + 30 * 86_400), age))
    published = pl.from_epoch(pl.Series(TIME_OFFSET_MS // 1000 - age), "s").dt.to_string("%Y-%m-%d %H:%M:%S")
    missing = rng.random((3, documents)) < np.array([[0.02], [0.03], [0.34]])
    meta = pl.DataFrame(
        {
            "document_id": np.arange(documents) + 1,
            "source_id": world.source + 1,
            "publisher_id": world.publisher + 1,
            "publish_time": published,
        }
    )
    columns = ("source_id", "publisher_id", "publish_time")
    meta = meta.with_columns(
        pl.when(pl.Series(~missing[index])).then(pl.col(name)).alias(name) for index, name in enumerate(columns)
    )
    meta.write_csv(folder / "documents_meta.csv")
    # Ids are not consecutive: entities are hexadecimal, categories four-digit numbers.
    entities = _scaled(displays, ENTITIES, 200)
    names = rng.bytes(16 * entities).hex()
    entity = np.array([names[32 * at : 32 * at + 32] for at in range(entities)])
    category = 1_000 + np.sort(rng.choice(1_200, size=CATEGORIES, replace=False))
    _write_terms(folder, "topic", world.theme, np.arange(TOPICS), (0.832, 4.54), rng)
    _write_terms(folder, "entity", world.theme, entity, (0.597, 3.09), rng)
    _write_terms(folder, "category", world.theme, category, (0.943, 1.94), rng)


def _write_terms(
    folder: Path,
    kind: str,
    theme: Floats,
    names: NDArray[np.generic],
    law: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    """Write ``documents_<kind>s.csv``; ``law``: share of documents with terms, and their mean number."""
    share, mean = law
    has = np.flatnonzero(rng.random(len(theme)) < share)
    # Repeated draws of a term fall away, so a few more are made.
    document = np.repeat(has, 1 + rng.poisson((mean - 1) * 1.3, size=len(has)))
    drawn = (theme.cumsum(axis=1)[document] < rng.random((len(document), 1))).sum(axis=1).clip(max=THEMES - 1)
    # A theme's terms are those congruent to it, the first ones most frequent.
    of_theme = (len(names) - 1 - drawn) // THEMES + 1
    term = drawn + THEMES * np.floor(of_theme * rng.random(len(document)) ** TERM_CONCENTRATION).astype(np.int64)
    confidence = rng.beta(1.0, 3.0, size=len(document))
    plural = "categories" if kind == "category" else "entities" if kind == "entity" else f"{kind}s"
    table = pl.DataFrame({"document_id": document + 1, "term": term, "confidence_level": confidence})
    table = table.unique(["document_id", "term"], keep="first", maintain_order=True)
    table = table.sort("document_id", "confidence_level", descending=[False, True], maintain_order=True)
    table.select("document_id", pl.Series(f"{kind}_id", names[table["term"].to_numpy()]), "confidence_level").write_csv(
        folder / f"documents_{plural}.csv"
    )


def _events(world: _World, displays: int, rng: np.random.Generator) -> _Events:
    day = rng.integers(TRAIN_DAYS, size=displays)
    # More views in the evening: within the day, a density of 1 - 0.6 sin(2 pi t).
    grid = np.linspace(0, 1, 1_441)
    within = np.interp(rng.random(displays), grid - 0.6 * (1 - np.cos(2 * np.pi * grid)) / (2 * np.pi), grid)
    timestamp = np.sort(((day + within) * DAY_MS).astype(np.int64)).clip(min=61, max=TRAIN_DAYS * DAY_MS - 1)
    weight = np.exp(2.0 * norm.isf((np.arange(len(world.viewed)) + 0.5) / len(world.viewed)))
    document = world.viewed[rng.choice(len(world.viewed), size=displays, p=weight / weight.sum())]
    sizes = rng.choice(len(USER_PERCENT), size=displays, p=USER_PERCENT / USER_PERCENT.sum()) + 1
    user = rng.permutation(np.repeat(np.arange(displays), sizes)[:displays])
    names = rng.bytes(7 * displays).hex()
    uuid = np.array([names[14 * at : 14 * at + 14] for at in range(displays)])[user]
    platform = 1 + rng.choice(3, size=displays, p=PLATFORM_PERCENT / PLATFORM_PERCENT.sum())
    platform[rng.random(displays) < 3e-4] = 0
    places, weights = _places(rng)
    place = rng.choice(len(places), size=displays, p=weights)
    frame = pl.DataFrame(
        {
            "display_id": np.arange(displays) + 1,
            "uuid": uuid,
            "document_id": document + 1,
            "timestamp": timestamp,
            "platform": np.array(["\\N", "1", "2", "3"])[platform],
            "geo_location": places[place],
        }
    )
    return _Events(document, platform, place, frame)


def _places(rng: np.random.Generator) -> tuple[NDArray[np.str_], Floats]:
    """Return places such as ``US>SC>519`` and their shares: about 80 % in the US, some without a part or empty."""
    states = [f"{first}{second}" for first in "ACFGIKMNOPTVW" for second in "AEIL"][:50]
    us = [f"US>{states[market % 50]}>{501 + market}" for market in range(210)] + [f"US>{state}" for state in states]
    others = [f"{first}{second}" for first in "ABCDEFGHIJ" for second in "KMNRT"]
    regions = [f"{country}>{region:02d}" for country in others[:20] for region in range(1, 6)]
    blocks = ((0.79, us), (0.01, ["US"]), (0.13, regions), (0.069, others), (0.001, [""]))
    shares = []
    for share, names in blocks:
        weight = np.exp(rng.normal(size=len(names)))
        shares.append(share * weight / weight.sum())
    return np.array([name for _, names in blocks for name in names]), np.concatenate(shares)


def _draw_ads(world: _World, display: Ints, rng: np.random.Generator) -> Ints:
    """Draw ads by weight, no ad twice in a display: repeats are drawn again until there is none."""
    cumulative = world.weight.cumsum()
    ads = len(cumulative)
    ad = np.empty(len(display), np.int64)
    redraw = np.arange(len(display))
    while len(redraw):
        ad[redraw] = np.searchsorted(cumulative[:-1], rng.random(len(redraw)), side="right")
        first = np.zeros(len(display), bool)
        first[np.unique(display * ads + ad, return_index=True)[1]] = True
        redraw = np.flatnonzero(~first)
    return ad


def _click(world: _World, events: _Events, display: Ints, ad: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw one click a display: the largest utility plus standard Gumbel noise is a draw from the conditional logit."""
    platform_taste = rng.normal(size=(4, THEMES))
    place_taste = rng.normal(size=(int(events.place.max()) + 1, THEMES))
    # Tastes differ between platforms and places and have no common part, which would only add to the ads' quality.
    platform_taste -= platform_taste[events.platform].mean(axis=0)
    place_taste -= place_taste[events.place].mean(axis=0)
    direction = world.theme / np.linalg.norm(world.theme, axis=1, keepdims=True)
    utility = AD_QUALITY * world.quality[ad]
    for start in range(0, len(ad), CHUNK):
        rows = slice(start, start + CHUNK)
        shown, page = world.document[ad[rows]], events.document[display[rows]]
        platform, place = events.platform[display[rows]], events.place[display[rows]]
        taste = PLATFORM_TASTE * platform_taste[platform] + PLACE_TASTE * place_taste[place]
        match = (direction[page] * direction[shown]).sum(axis=1)
        utility[rows] += THEME_MATCH * match + (taste * direction[shown]).sum(axis=1)
    utility += rng.gumbel(size=len(utility))
    best = np.lexsort((-utility, display))
    clicked = np.zeros(len(ad), bool)
    clicked[best[np.flatnonzero(np.diff(display[best], prepend=-1))]] = True
    return clicked
