"""Published series and summaries: what fits, which convention, what is impossible."""

import csv
import statistics
from decimal import Decimal
from itertools import combinations_with_replacement

import numpy as np
import pytest

from seedstudy.reference import reference_path
from seedstudy.statistics.forensics import check_ks, check_series, check_summary
from seedstudy.statistics.published import printed

# Series: whether the mean fits, conventions that fit the runs as printed, and any runs that print so.
SERIES = {
    "PaddlePaddle BERT loss": (True, (), ()),
    "PyTorch EfficientDet": (False, (1, 0), (1, 0)),
    "PyTorch BERT EM": (True, (1,), (1,)),
    "PyTorch BERT F1": (True, (1,), (1, 0)),
    "PyTorch BERT MRPC": (True, (), (1,)),
    "PyTorch BERT SST2": (True, (), (1, 0)),
    "TensorFlow BERT-SQuAD F1 FP16": (False, (1,), (1,)),
    "TensorFlow BERT-SQuAD F1 TF32": (True, (1,), (1, 0)),
    "TensorFlow BERT-MRPC fp16": (True, (1,), (1,)),
    "TensorFlow BERT-MRPC tf32": (True, (1,), (1,)),
    "TensorFlow2 EfficientDet": (False, (1, 0), (1, 0)),
    "TensorFlow2 BERT-SQuAD F1 FP16": (True, (), (1, 0)),
    "TensorFlow2 BERT-SQuAD F1 TF32": (True, (1, 0), (1, 0)),
}


def rows_of(name):
    with reference_path(name).open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def published():
    found = {}
    for row in rows_of("published_per_seed.csv"):
        found.setdefault(row["series"], []).append(row)
    return found


def checked(rows):
    values = [printed(row["value"]) for row in rows]
    return check_series(values, printed(rows[0]["published_mean"]), printed(rows[0]["published_std"]))


def prints_as(value, text):
    """Whether an exact decimal rounds to the printed one, at most half its last digit away."""
    number = Decimal(text)
    return abs(value - number) <= Decimal(1).scaleb(number.as_tuple().exponent) / 2


def test_every_published_series_is_checked(published):
    assert set(published) == set(SERIES)


@pytest.mark.parametrize("name", SERIES)
def test_series_reproduce_mean_sd_and_convention(published, name):
    rows, (mean_fits, ddof, possible) = published[name], SERIES[name]
    found = checked(rows)
    exact = [Decimal(row["value"]) for row in rows]
    mean, spreads = statistics.mean(exact), {1: statistics.stdev(exact), 0: statistics.pstdev(exact)}
    assert found.n == len(rows)
    assert found.mean == pytest.approx(float(mean), rel=1e-14)
    assert found.sd == pytest.approx({key: float(value) for key, value in spreads.items()}, rel=1e-9)
    assert found.mean_fits == mean_fits == prints_as(mean, rows[0]["published_mean"])
    assert found.ddof == ddof
    assert ddof == tuple(key for key in (1, 0) if prints_as(spreads[key], rows[0]["published_std"]))
    assert found.ddof_possible == possible
    # No mean is off by more than the rounding of the runs explains.
    assert found.mean_possible


def test_what_is_impossible_or_inconsistent_is_named(published):
    problems = {name: checked(rows).problem for name, rows in published.items()}
    assert problems.pop("PaddlePaddle BERT loss") == "their SD is 0.06115 (ddof 1) or 0.05469 (ddof 0) (impossible)"
    assert (
        problems.pop("PyTorch EfficientDet")
        == "the mean of these runs is 0.34128 (possible through the rounding of the runs)"
    )
    explained = {
        name for name, problem in problems.items() if problem.endswith("(possible through the rounding of the runs)")
    }
    assert explained == {
        "PyTorch BERT MRPC",
        "PyTorch BERT SST2",
        "TensorFlow BERT-SQuAD F1 FP16",
        "TensorFlow2 EfficientDet",
        "TensorFlow2 BERT-SQuAD F1 FP16",
    }
    assert not any(problem for name, problem in problems.items() if name not in explained)


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("published_mean", "84.10", "the mean of these runs is 83.961 (impossible)"),
        ("published_std", "0.300", "their SD is 0.2659 (ddof 1) or 0.2522 (ddof 0) (impossible)"),
        ("published_std", "0.252", ""),  # ddof 0 is a convention, not a fault
    ],
)
def test_an_altered_row_is_reported(published, column, text, said):
    rows = [row | {column: text} for row in published["PyTorch BERT EM"]]
    assert checked(rows).problem == said


def test_every_published_summary_is_possible_under_both_conventions():
    rows = rows_of("widedeep_stability.csv")
    assert len(rows) == 16
    for row in rows:
        numbers = [printed(row[name]) for name in ("mean", "std", "min", "max")]
        found = check_summary(int(row["n"]), *numbers, lattice=1e-4)
        # Twenty values of a wide lattice leave the convention open.
        assert (found.ddof, found.lattice_ddof, found.problems) == ((1, 0), (1, 0), ())


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        (("0.5", "0.1", "0.6", "0.4"), "maximum 0.4 lies below minimum 0.6"),
        (("0.70", "0.05", "0.40", "0.60"), "mean 0.7 of 20 values is impossible between 0.4 and 0.6"),
        # 20 values between 0.4 and 0.6 spread at most as 10 + 10 at the ends: 0.1 sqrt(20 / 19) = 0.103
        (("0.500", "0.150", "0.400", "0.600"), "SD 0.15 is impossible"),
        # One at each end and 18 in the middle: sqrt(2 / 20) 0.1 = 0.032
        (("0.500", "0.010", "0.400", "0.600"), "SD 0.01 is impossible"),
    ],
)
def test_impossible_summaries_are_named(numbers, problem):
    (found,) = check_summary(20, *map(printed, numbers)).problems
    assert found.startswith(problem)


@pytest.mark.parametrize("seed", range(300))
def test_summaries_of_real_runs_are_possible_under_their_convention(seed):
    rng = np.random.default_rng(seed)
    n, ddof, centre = int(rng.integers(2, 12)), int(rng.integers(0, 2)), rng.choice([0.65, 0.0, -0.65])
    runs = np.round(rng.normal(centre, rng.choice([0.0, 3e-5, 2e-4]), n), 4)
    digits = int(rng.integers(3, 7))
    numbers = [f"{value:.{digits}f}" for value in (runs.mean(), runs.std(ddof=ddof))]
    # Coarser ends than the lattice leave more open; the summary stays possible.
    numbers += [f"{value:.{int(rng.integers(2, 5))}f}" for value in (runs.min(), runs.max())]
    found = check_summary(n, *map(printed, numbers), lattice=1e-4)
    assert found.problems == ()
    assert ddof in found.ddof
    numbers[2:] = [f"{value:.4f}" for value in (runs.min(), runs.max())]
    found = check_summary(n, *map(printed, numbers), lattice=1e-4)
    assert found.problems == ()
    assert ddof in found.ddof
    assert found.lattice_ddof is None or ddof in found.lattice_ddof


@pytest.mark.parametrize("n", [2, 3, 4])
def test_least_and_largest_sd_equal_those_of_a_fine_grid(n):
    # Ends 0.4 and 0.6 known to a tenth: all runs from 0.35 to 0.65 in steps of 0.01 that print so.
    spreads, smallest, largest, mean = [], printed("0.4"), printed("0.6"), printed("0.48")
    for runs in combinations_with_replacement((np.arange(35, 66) / 100.0).tolist(), n):
        if smallest.fits(runs[0]) and largest.fits(runs[-1]) and mean.fits(sum(runs) / n):
            spreads.append(np.std(runs, ddof=1))
    least, most = min(spreads), max(spreads)
    ends = (smallest, largest)
    assert not check_summary(n, mean, printed(f"{least + 6e-4:.3f}"), *ends).problems
    assert not check_summary(n, mean, printed(f"{most - 6e-4:.3f}"), *ends).problems
    (low,) = check_summary(n, mean, printed("0.001"), *ends).problems
    # Named is the smallest SD of both conventions (ddof 0); the grid misses it by up to its step.
    named = float(low.split("one from ")[1].split(" to ")[0])
    assert named == pytest.approx(least * np.sqrt((n - 1) / n), abs=0.011)


def test_lattice_conventions_equal_a_count_of_all_runs():
    n, ends = 4, (0, 5)
    for mean, sd in (("2.50", "2.38"), ("2.50", "2.06"), ("2.25", "2.22"), ("2.25", "1.92"), ("2.40", "2.00")):
        possible = set()
        for inner in combinations_with_replacement(range(6), n - 2):
            runs = np.array([*ends, *inner], dtype=float)
            if printed(mean).fits(runs.mean()):
                possible |= {ddof for ddof in (1, 0) if printed(sd).fits(runs.std(ddof=ddof))}
        found = check_summary(n, printed(mean), printed(sd), printed("0"), printed("5"), lattice=1.0)
        assert set(found.lattice_ddof or ()) == possible
        assert bool(found.problems) == (not possible)


def test_published_ks_statistics_and_p_values_fit():
    for row in rows_of("widedeep_amp_impact.csv"):
        found = check_ks(printed(row["ks_statistic"]), printed(row["ks_pvalue"]), 20, 20)
        assert found.possible
        assert found.p_fits
    # At 20 an arm every statistic is a multiple of 0.05; the p of 0.15 is .98314.
    assert not check_ks(printed("0.17000"), printed("0.98314"), 20, 20).possible
    assert not check_ks(printed("0.15000"), printed("0.98000"), 20, 20).p_fits


def test_printed_digits_say_how_far_a_number_is_known():
    assert printed("0.65730").step == 1e-5
    assert printed("1.5e-4").step == 1e-5
    assert printed("20").step == 1.0
    assert (printed("0.6573").low, printed("0.6573").high) == pytest.approx((0.65725, 0.65735))
    assert printed("0.657").fits(0.6575)
    assert printed("0.658").fits(0.6575)  # a tie of the rounding fits both
    assert not printed("0.657").fits(0.65751)


@pytest.mark.parametrize("text", ["", "nan", "inf", "0,5", "1e400", "1e-400", "1_0", "0x1", "five"])
def test_what_is_no_printed_number_is_refused(text):
    with pytest.raises(ValueError, match=r"is no decimal number|is out of range"):
        printed(text)
