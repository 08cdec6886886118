"""`seedstudy reanalyse` on the shipped tables, and on tables that are none."""

import pandas as pd
import pytest

from seedstudy.reference import reference_path

PAIRS = "x,n,mean_full,std_full,mean_amp,std_amp\n1,20,0.65729,0.00013,0.65732,0.00010\n"
SUMMARY = "x,n,mean,std,min,max\n1,20,0.65729,0.00013,0.6571,0.6576\n"
SERIES = "series,value,published_mean,published_std\na,1.0,1.5,0.7\na,2.0,1.5,0.7\n"


@pytest.fixture
def reanalysed(seedstudy, tmp_path):
    def run(path, *options):
        output = tmp_path / "out.csv"
        done = seedstudy("reanalyse", path, *options, "--output", output).accepted()
        return done.out, pd.read_csv(output, keep_default_na=False)

    return run


def test_two_arms_a_row(reanalysed):
    out, table = reanalysed(reference_path("widedeep_amp_impact.csv"), "--margin", "2e-4", "--metric", "map12")
    # The numbers themselves stand in test_published_numbers.
    assert table["welch_pvalue"].round(3).tolist() == [0.419, 0.154, 0.618, 0.644, 0.041, 0.101, 0.787, 0.012]
    assert (table["welch_pvalue_low"] <= table["welch_pvalue"]).all()
    assert (table["verdict_holm"] == "EQUIVALENT").all()
    assert table["verdict"].value_counts().to_dict() == {"EQUIVALENT": 6, "EQUIVALENT, NONZERO": 2}
    assert table["verdicts_within_rounding"][4] == "EQUIVALENT / EQUIVALENT, NONZERO"
    assert table["ks_possible"].all()
    assert table["ks_pvalue_fits"].all()
    assert table["ks_exact_pvalue"].round(5).tolist()[:3] == [0.98314, 0.83197, 0.99999]
    assert out.count("map12 of amp minus full in architecture ") == 8


def test_a_configuration_a_row(reanalysed):
    path = reference_path("widedeep_stability.csv")
    _, table = reanalysed(path, "--lattice", "1e-4")
    assert (table["ddof"] == "1 or 0").all()
    assert (table["ddof_on_lattice"] == "1 or 0").all()
    assert (table["problem"] == "").all()
    assert len(table) == 16
    assert (reanalysed(path)[1]["ddof_on_lattice"] == "not checked").all()


def test_factorial_model_of_a_published_table(reanalysed):
    axes = ("precision=fp32|tf32,amp", "gpus=1,8", "xla=false,true", "architecture=a100,v100")
    options = [text for axis in axes for text in ("--axis", axis)]
    _, table = reanalysed(reference_path("widedeep_stability.csv"), "--margin", "2e-4", *options)
    effects = table.set_index("effect")["estimate"] * 1e5
    assert effects["precision amp - fp32|tf32"] == pytest.approx(4.25)
    assert effects["gpus 8 - 1"] == pytest.approx(19.0)


def test_factorial_model_allows_for_the_lattice_that_is_named(reanalysed, tmp_path):
    (tmp_path / "t.csv").write_text("x,n,mean,std,min,max\n1,3,0.6,0,0.6,0.6\n2,3,0.7,0,0.7,0.7\n")
    options = ["--axis", "x=1,2", "--margin", "0.05"]
    table = reanalysed(tmp_path / "t.csv", *options, "--lattice", "0.1")[1]
    # Both means may be half a step off.
    assert (table["ci_low"][0], table["ci_high"][0]) == pytest.approx((0.0, 0.2), abs=1e-6)
    assert table["verdict"].tolist() == ["INCONCLUSIVE"]
    assert reanalysed(tmp_path / "t.csv", *options)[1]["verdict"].tolist() == ["DIFFERENT"]


def test_runs_beside_their_summary(reanalysed):
    out, table = reanalysed(reference_path("published_per_seed.csv"))
    table = table.set_index("series")
    assert table["ddof"].value_counts().to_dict() == {"1": 6, "none": 4, "1 or 0": 3}
    assert table.loc["PyTorch BERT EM", "mean"] == pytest.approx(83.961)
    assert table.loc["PaddlePaddle BERT loss", "problem"].endswith("(impossible)")
    assert (table["problem"] == "").sum() == 6
    assert "83.961" in out


def test_an_impossible_summary_is_named(reanalysed, tmp_path):
    (tmp_path / "t.csv").write_text(SUMMARY.replace("0.00013", "0.00130"))
    _, table = reanalysed(tmp_path / "t.csv")
    assert table["ddof"].tolist() == ["none"]
    assert table["problem"][0].startswith("SD 0.0013 is impossible: 20 values from 0.6571 to 0.6576")


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (PAIRS, [], "--margin: is missing"),
        (PAIRS, ["--margin", "0"], "--margin: 0 is not a positive number"),
        (PAIRS, ["--margin", "1", "--alpha", "0.7"], "--alpha: 0.7 is not between 0 and 0.5"),
        (SUMMARY, ["--lattice", "-1"], "--lattice: -1 is not a positive number"),
        (SUMMARY, ["--axis", "x=1,2"], "--margin: is missing"),
        (SUMMARY, ["--axis", "x=1,2", "--margin", "1"], "{path}: no run with a result has x 2"),
        (SUMMARY, ["--axis", "y=1,2", "--margin", "1"], "{path}: has no column 'y'; it has x"),
        (SUMMARY + "1,20,0.6,0.1,0.5,0.8\n", ["--axis", "x=1,2", "--margin", "1"], "{path}: x 1 stands twice"),
        ("", [], "{path}: is empty"),
        ("n,mean,std,min,max\n", [], "{path}: holds a header only"),
        ("a,b\n1,2\n", [], "{path}: needs the columns n, mean, std, min, max, or n, mean_A"),
        (PAIRS.replace(",n,", ",N,"), ["--margin", "1"], "{path}: needs the columns"),
        (PAIRS.replace("0.65729", "0,65729"), ["--margin", "1"], "{path}, line 2: has 7 field(s)"),
        (PAIRS.replace("0.65729", "nan"), ["--margin", "1"], "{path}, line 2, column mean_full: 'nan' is no decimal"),
        (PAIRS.replace("0.65729", ""), ["--margin", "1"], "{path}, line 2, column mean_full: '' is no decimal number"),
        (
            PAIRS.replace("0.65729", "1e999"),
            ["--margin", "1"],
            "{path}, line 2, column mean_full: '1e999' is out of range",
        ),
        (
            PAIRS.replace("0.00010", "-0.1"),
            ["--margin", "1"],
            "{path}, line 2, column std_amp: is -0.1; no SD is negative",
        ),
        (PAIRS.replace(",20,", ",1,"), ["--margin", "1"], "{path}, line 2, column n: '1' is no number of runs from 2"),
        (PAIRS.replace(",20,", ",20.5,"), ["--margin", "1"], "{path}, line 2, column n: '20.5' is no number of runs"),
        (PAIRS.replace(",20,", f",{'9' * 5000},"), ["--margin", "1"], "{path}, line 2, column n: '999"),
        (SERIES.replace("2.0,1.5", "2.0,1.6"), [], "{path}, line 3, column published_mean: is not that of line 2"),
        (SERIES.replace("a,2.0", "b,2.0"), [], "{path}, line 2: is the only run of a; a spread needs 2"),
        (SERIES.replace("2.0", "two"), [], "{path}, line 3, column value: 'two' is no decimal number"),
    ],
)
def test_what_cannot_be_reanalysed_is_one_line(seedstudy, tmp_path, content, options, said):
    path = tmp_path / "t.csv"
    path.write_text(content)
    seedstudy("reanalyse", path, *options).refused(f"seedstudy: {said.format(path=path)}")


def test_numbers_that_lost_their_digits_are_refused(seedstudy, tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"n": [20], "mean": [0.6573], "std": [0.0001], "min": [0.657], "max": [0.658]}).to_parquet(path)
    seedstudy("reanalyse", path).refused(
        f"{path}, column ", "does not keep the digits as printed; give the table as CSV"
    )


def test_zero_spread_and_two_runs(reanalysed, tmp_path):
    (tmp_path / "t.csv").write_text("n,mean_a,std_a,mean_b,std_b\n2,0.5,0,0.5,0\n")
    _, table = reanalysed(tmp_path / "t.csv", "--margin", "0.1")
    assert table["difference"].tolist() == [0.0]
    assert table["welch_pvalue"].tolist() == [1.0]
    # Both are printed to a digit: an SD below 0.5 prints as 0.
    assert "INCONCLUSIVE" in table["verdicts_within_rounding"][0]
