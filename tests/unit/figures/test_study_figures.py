"""The files of a study: repeated to the byte, nothing cut off or overlapping, no TensorFlow, faults in one line."""

import itertools
import os
import subprocess
import sys

import pytest
from matplotlib.text import Text

from seedstudy.errors import UserError
from seedstudy.figures.influence import influence_figure
from seedstudy.figures.layout import axis_words, level_words, metric_label, ordered
from seedstudy.figures.learning_curves import learning_curves_figure
from seedstudy.figures.stability import stability_figure
from seedstudy.figures.study import write_figures
from seedstudy.tables.study import compare_study
from tests.unit.figures.conftest import ROOT, lose, made_up, planned


@pytest.fixture(scope="module")
def runs_path(smoke, tmp_path_factory):
    runs = made_up(smoke)
    runs = lose(runs, (runs.precision == "amp") & (runs.workers == "2") & (runs.seed == "103"), curve="0.6 nan")
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    runs.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_files_repeat_to_the_byte_and_need_no_tensorflow(runs_path, smoke, tmp_path):
    written = write_figures(runs_path, smoke.path, tmp_path / "one")
    names = ["learning_curves", "stability", "amp_influence"]
    assert [path.name for path in written] == [f"{name}.{kind}" for name in names for kind in ("svg", "png")]
    (tmp_path / "matplotlibrc").write_text("font.size: 20\nsavefig.dpi: 50\naxes.grid: False\n")
    code = (
        "import sys\nfrom seedstudy.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "assert 'tensorflow' not in sys.modules"
    )
    command = ["figures", "--runs", runs_path, "--plan", smoke.path, "--output", tmp_path / "two"]
    environment = os.environ | {"PYTHONHASHSEED": "7", "MATPLOTLIBRC": str(tmp_path), "SOURCE_DATE_EPOCH": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, *command], check=True, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(tmp_path / "two" / path.name) for path in written]
    for path in written:
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
        assert len(path.read_bytes()) > 10_000


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("status", "crashed", "crashed"), ("map12_curve", "0.5 x", "column map12_curve: holds something else")],
)
def test_a_fault_in_the_table_is_one_line(runs_path, smoke, tmp_path, column, value, message):
    runs = made_up(smoke)
    runs.loc[2, column] = value
    runs.to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(UserError, match=message):
        write_figures(tmp_path / "runs.csv", smoke.path, tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(runs_path, smoke, tmp_path):
    (tmp_path / "figures").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_figures(runs_path, smoke.path, tmp_path / "figures")


def all_figures(plan, runs):
    yield learning_curves_figure(plan, runs)
    yield stability_figure(plan, runs)
    for family in compare_study(runs, plan, resamples=0):
        yield influence_figure(plan, family)


def texts_of(figure):
    """Boxes of all that is written, laid out as saved."""
    figure.get_layout_engine().execute(figure)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    found = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    # Matplotlib keeps tick labels beyond the limits as artists, but does not draw them.
    shown = [text for text in found if text.axes is None or text.axes.axison]
    ticks = {
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for label in itertools.chain(*(tick.get_children() for tick in [*axis.majorTicks, *axis.minorTicks]))
        if isinstance(label, Text)
    }
    drawn = {
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in axis._update_ticks()
        for label in (tick.label1, tick.label2)
    }
    return {text: text.get_window_extent(renderer) for text in shown if text not in ticks or text in drawn}


@pytest.mark.slow
@pytest.mark.parametrize("long_names", [False, True])
def test_nothing_is_cut_off_or_overlaps(tmp_path, long_names):
    names = {"x86_64_v": "x86_64_avx512_v", "Wide & Deep": "Wide & Deep " * 8} if long_names else {}
    plan = planned(tmp_path, "default", **names)
    runs = made_up(plan)
    runs = lose(runs, (runs.precision == "amp") & (runs.workers == "2") & (runs.seed == "103"))
    runs = lose(runs, (runs.precision == "amp") & (runs.workers == "2") & (runs.seed == "104"), "failed")
    for figure in all_figures(plan, runs):
        boxes = texts_of(figure)
        assert len(boxes) > 20
        for text, box in boxes.items():
            assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1, text.get_text()
            assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1, text.get_text()
            assert text.get_fontsize() >= 8
        for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
            # Text boxes include room for letters that reach further up or down than these do.
            apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 3 or b.y1 <= a.y0 + 3
            assert apart, f"{one.get_text()!r} overlaps {other.get_text()!r}"


def test_words(plan):
    assert metric_label("map12") == "MAP@12"
    assert metric_label("accuracy") == "accuracy"
    assert axis_words("workers", "1", "GPUs") == "1\N{NO-BREAK SPACE}GPU"
    assert axis_words("workers", "8", "GPUs") == "8\N{NO-BREAK SPACE}GPUs"
    assert axis_words("xla", "true", "") == "XLA\N{NO-BREAK SPACE}on"
    assert level_words("xla", "false") == "off"
    assert axis_words("precision", "fp32|tf32", "") == "fp32/tf32"
    assert ordered("workers", ["8", "16", "1"], plan) == ["1", "8", "16"]
    assert ordered("precision", ["amp", "tf32", "amp", "fp32"], plan) == ["fp32", "tf32", "amp"]
    assert ordered("architecture", ["other", "x86_64_v2", "x86_64_v3"], plan) == ["x86_64_v3", "x86_64_v2", "other"]
