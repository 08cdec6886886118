"""Figures of speed: medians, bars and ratios where they belong; files that repeat to the byte."""

import json

import pytest
from matplotlib.container import ErrorbarContainer

from seedstudy.errors import UserError
from seedstudy.figures.benchmarks import scaling_figure, throughput_figure, write_benchmark_figures
from seedstudy.imports.benchmarks import merge_benchmarks, read_benchmarks
from tests.unit.benchmark_rows import every_row, row
from tests.unit.figures.conftest import panels_of


def path_of(folder, rows):
    (folder / "rows.json").write_text(json.dumps(rows))
    merge_benchmarks([folder / "rows.json"], folder / "benchmarks.csv")
    return folder / "benchmarks.csv"


def training(folder, rows):
    table = read_benchmarks(path_of(folder, rows))
    return table[table.kind == "training"]


def test_throughput_holds_medians_and_spread(plan, tmp_path):
    rows = training(tmp_path, [*every_row(), row(batch=64, speed=300.0)])
    figure = throughput_figure(plan, rows)
    axes = panels_of(figure)
    assert list(axes) == ["x86_64_v3, 1 worker", "x86_64_v3, 2 workers"]
    ax = axes["x86_64_v3, 1 worker"]
    full, amp = (found for found in ax.containers if isinstance(found, ErrorbarContainer))
    assert (full.lines[0].get_ydata().tolist(), amp.lines[0].get_ydata().tolist()) == ([300.0, 1000.0], [1500.0])
    (bars,) = full.lines[2]
    assert bars.get_segments()[1][:, 1] == pytest.approx([900.0, 1200.0])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["64", "1,024"]
    assert ax.get_ylim()[0] == 0.0


def test_scaling_is_the_tables_beside_the_ideal(plan, tmp_path):
    axes = panels_of(scaling_figure(plan, training(tmp_path, every_row())))
    (ax,) = axes.values()
    assert list(axes) == ["x86_64_v3, batch 1,024"]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1.0, 2.0], [1.0, 1.8], [1.0, 1.6]]


def test_one_arm_alone_is_drawn_and_none_is_one_line(plan, tmp_path):
    rows = training(tmp_path, [row()])
    for figure in (throughput_figure(plan, rows), scaling_figure(plan, rows)):
        assert len(panels_of(figure)) == 1
    with pytest.raises(UserError, match="holds no row of training to draw"):
        write_benchmark_figures(path_of(tmp_path, [row(kind="inference")]), plan.path, tmp_path)


@pytest.mark.slow
def test_files_repeat_to_the_byte(plan, tmp_path):
    path = path_of(tmp_path, every_row())
    one, two = (write_benchmark_figures(path, plan.path, tmp_path / name) for name in ("one", "two"))
    names = ("benchmark_throughput", "benchmark_scaling")
    assert [path.name for path in one] == [f"{name}.{kind}" for name in names for kind in ("svg", "png")]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(one, two, strict=True))
