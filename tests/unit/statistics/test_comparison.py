"""The engine on small tables whose answers are known."""

from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

from seedstudy.errors import UserError
from seedstudy.statistics.cells import Family, split_cells
from seedstudy.statistics.comparison import compare_family
from seedstudy.statistics.configurations import summarise_configurations
from seedstudy.statistics.difference import paired, welch
from seedstudy.statistics.failures import compare_failures, count_failures
from seedstudy.statistics.verdict import Label

FAMILY = Family("amp", {"precision": ("fp32|tf32", "amp")}, ("architecture", "workers"))
SEEDS = [7, 10, 9, 123]


def table(shift=0.0, cells=(("a", 1), ("a", 10), ("b", 2)), seeds=SEEDS, spread=1.0):
    """Cells of two arms; the treatment is the reference plus ``shift`` plus small noise of its own."""
    rng = np.random.default_rng(5)
    rows = []
    for architecture, workers in cells:
        base = rng.normal(0.0, spread, len(seeds))
        arms = {"tf32" if architecture == "a" else "fp32": base, "amp": base + shift + rng.normal(0, 0.01, len(seeds))}
        for precision, values in arms.items():
            rows += [
                {
                    "architecture": architecture,
                    "workers": workers,
                    "precision": precision,
                    "seed": seed,
                    "status": "ok",
                    "map12": value,
                }
                for seed, value in zip(seeds, values, strict=True)
            ]
    return pd.DataFrame(rows)


def compare(runs, margin=0.1, **options):
    return compare_family(runs, FAMILY, "map12", margin, **{"resamples": 0, "paired": True} | options)


def test_cells_are_sorted_as_numbers_and_arms_joined():
    cells = split_cells(table().sample(frac=1.0, random_state=3), FAMILY, "map12")
    assert [cell.where for cell in cells] == [
        {"architecture": "a", "workers": "1"},
        {"architecture": "a", "workers": "10"},
        {"architecture": "b", "workers": "2"},
    ]
    assert cells[0].reference.seeds == ("7", "9", "10", "123")


def test_booleans_are_written_as_in_the_plan():
    runs = table().assign(xla=lambda frame: frame.precision == "amp")
    family = Family("xla", {"xla": ("false", "true")}, ("architecture", "workers"))
    assert split_cells(runs, family, "map12")[0].treatment.n == 4


def test_verdicts_are_paired_by_seed_where_allowed():
    runs = table()
    sharp, blunt = compare(runs).cells[0], compare(runs, paired=False).cells[0]
    assert (sharp.method, blunt.method) == ("paired", "welch")
    assert (sharp.verdict.label, blunt.verdict.label) == (Label.EQUIVALENT, Label.INCONCLUSIVE)
    x, y = sharp.reference.values, sharp.treatment.values
    assert sharp.paired.p_difference == paired(x, y).p_difference
    assert blunt.welch.p_difference == welch(x, y).p_difference
    assert sharp.correlation == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_other_seeds_in_the_arms_are_not_paired():
    runs = table()
    runs.loc[(runs.precision == "amp") & (runs.seed == 7), "seed"] = 8
    cell = compare(runs).cells[0]
    assert cell.method == "welch"
    assert "Not paired: the arms hold different seeds." in cell.verdict.sentence


def test_failures_are_named_beside_the_verdict_and_never_averaged_in():
    runs = table()
    lost = (runs.precision == "amp") & (runs.seed == 7) & (runs.workers == 1)
    runs.loc[lost, ["status", "map12"]] = ["diverged", np.nan]
    result = compare(runs)
    cell = result.cells[0]
    assert (cell.treatment.n, cell.reference.n, cell.pairs, cell.method) == (3, 4, 3, "paired")
    assert "Failures: fp32|tf32 0 of 4, amp 1 diverged of 4" in cell.verdict.sentence
    assert result.everywhere_sentence.endswith("1 failed run(s) in the cells, named there.")
    assert result.average.label is Label.EQUIVALENT  # over the three seeds that all cells share


@pytest.mark.parametrize("left", [0, 1])
def test_too_few_results_are_inconclusive(left):
    runs = table()
    lost = (runs.precision == "amp") & (runs.workers == 1) & ~runs.seed.isin(SEEDS[:left])
    runs.loc[lost, ["status", "map12"]] = ["failed", np.nan]
    result = compare(runs)
    cell = result.cells[0]
    assert cell.verdict.label is Label.INCONCLUSIVE
    assert "needs >= 2 seeds with a result in both arms" in cell.verdict.sentence
    assert (cell.method, cell.estimate, cell.ks, cell.variance) == ("none", None, None, None)
    assert result.everywhere is Label.INCONCLUSIVE
    assert result.everywhere_p == 1.0
    assert result.average.label is Label.INCONCLUSIVE


def test_holm_and_everywhere(monkeypatch):
    monkeypatch.setattr("gc.collect", int)  # which statsmodels calls each time
    result = compare(table(shift=0.09), margin=0.1)
    p = [cell.verdict.p_equivalent for cell in result.cells]
    assert [cell.holm.p_equivalent for cell in result.cells] == pytest.approx(multipletests(p, method="holm")[1])
    assert result.everywhere_p == max(p)
    near = compare(table(), margin=0.1)
    assert near.everywhere in (Label.EQUIVALENT, Label.EQUIVALENT_NONZERO)
    far = compare(table(shift=0.5), margin=0.1)
    assert far.everywhere is Label.DIFFERENT
    assert "DIFFERENT in 3 of 3 cells (Holm)" in far.everywhere_sentence


def test_average_over_cells_paired_by_seed():
    runs = table(shift=0.03)
    result = compare(runs)
    effects = np.mean([cell.treatment.values - cell.reference.values for cell in result.cells], axis=0)
    assert result.average.p_difference == pytest.approx(scipy.stats.ttest_1samp(effects, 0).pvalue)


def test_average_over_unpaired_cells_of_one_cell_is_that_cell():
    runs = table(cells=(("a", 1),))
    result = compare(runs, paired=False)
    assert result.average.p_equivalent == pytest.approx(result.cells[0].verdict.p_equivalent)
    assert result.average.interval.low == pytest.approx(result.cells[0].verdict.interval.low)


def test_average_over_unpaired_cells_allows_for_rounding_as_the_cells_do():
    runs = table(cells=(("a", 1),))
    runs["map12"] = runs["map12"].round(0)
    result = compare(runs, paired=False)
    assert float(result.cells[0].estimate.slack) > 0.0
    assert result.average.interval.low == pytest.approx(result.cells[0].verdict.interval.low)
    assert result.average.interval.high == pytest.approx(result.cells[0].verdict.interval.high)


def test_average_over_cells_paired_by_seed_allows_for_rounding_as_the_cells_do():
    runs = table(cells=(("a", 1), ("b", 2)))
    flat = {("tf32", 1): 0.61, ("amp", 1): 0.62, ("fp32", 2): 0.72, ("amp", 2): 0.73}
    runs["map12"] = [flat[precision, workers] for precision, workers in zip(runs.precision, runs.workers, strict=True)]
    average = compare(runs).average
    # Every mean may be half a step of 0.01 off, though the averages lie on a lattice of 0.005.
    assert (average.interval.low, average.interval.high) == pytest.approx((0.0, 0.02), abs=1e-7)
    assert average.p_difference == 1.0


def test_order_of_rows_changes_nothing():
    runs = table(shift=0.02)
    one, other = compare(runs), compare(runs.sample(frac=1.0, random_state=1))
    for a, b in zip(one.cells, other.cells, strict=True):
        assert a.verdict == b.verdict


def test_rounded_values_are_flagged():
    runs = table()
    runs["map12"] = runs["map12"].round(0)
    assert any(note.startswith("Coarse: values of") for note in compare(runs).cells[0].notes)


def test_what_cannot_be_compared_is_one_line():
    runs = table()
    runs.attrs["source"] = "runs.csv"
    cases = [
        (runs.drop(columns="workers"), FAMILY, "has no column 'workers'"),
        (runs, Family("x", {"precision": ("fp16", "amp")}, ("architecture", "workers")), "no run has 'fp16'"),
        (runs, Family("x", {"precision": ("amp|fp32", "amp")}, ("architecture", "workers")), "share runs"),
        (runs, Family("x", {"precision": ("tf32", "amp")}, ("precision",)), "cannot be an axis of the cells"),
        (runs, Family("x", {"precision": ("tf32", "amp")}, ("architecture", "workers")), "has no run with"),
        (runs, Family("x", {"precision": ("fp32|tf32", "amp")}, ("architecture",)), "seed 7 stands twice"),
        (runs.assign(map12=np.inf), FAMILY, "is ok but has no finite metric"),
    ]
    for frame, family, message in cases:
        frame.attrs["source"] = "runs.csv"
        with pytest.raises(UserError, match=message) as error:
            split_cells(frame, family, "map12")
        assert str(error.value).startswith("runs.csv")
        assert "\n" not in str(error.value)


def test_permutations_need_an_explicit_generator():
    with pytest.raises(ValueError, match="explicit rng"):
        compare(table(), resamples=100)
    cell = compare(table(), resamples=100, rng=np.random.default_rng(0)).cells[0]
    assert cell.permutation.exact  # 2 ** 4 sign flips


def test_configurations_are_summarised_with_their_failures():
    runs = table()
    runs.loc[0, ["status", "map12"]] = ["failed", np.nan]
    first, *_ = summarise_configurations(runs, ("architecture", "workers", "precision"), "map12")
    values = runs.map12[1:4]
    assert (first.summary.n, first.failures.failed, first.failures.runs) == (3, 1, 4)
    assert (first.summary.mean, first.summary.sd) == pytest.approx((values.mean(), values.std(ddof=1)))
    with pytest.raises(UserError, match="seed 7 stands twice"):
        summarise_configurations(runs, ("architecture",), "map12")


def test_failure_counts_and_fisher():
    one, other = count_failures(["ok"] * 15 + ["diverged"] * 5), count_failures(["ok"] * 19 + ["failed"])
    assert str(one) == "5 diverged of 20"
    # By hand: 6 failures dealt into 20 + 20 runs, 5 : 1 or 6 : 0 either way round.
    assert compare_failures(one, other).p_fisher == pytest.approx(2 * (comb(20, 5) * 20 + comb(20, 6)) / comb(40, 6))
    with pytest.raises(ValueError, match="statuses must be one of"):
        count_failures(["ok", "nan"])
    with pytest.raises(ValueError, match="no run"):
        count_failures([])
