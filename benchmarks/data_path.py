"""The way of the rows: from Parquet to the first batch, its share of a step, and the memory of two ranks.

python benchmarks/data_path.py [--rows 10000000] [--ranks-rows 6000000] [--repeats 5] [--output benchmarks/data_path.md]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMERIC, ONEHOT = 14, 14  # with group and label 30 columns
FULL_TRAIN, FULL_VALID, FULL_WIDTH = 60_000_000, 27_000_000, 36
CHUNK = 1 << 17
MIB = 1 << 20


def cardinality(index: int) -> int:
    return (10, 1_000, 100_000)[index % 3]


def generate(folder: Path, rows: int, valid_rows: int, ids: int = ONEHOT) -> None:
    """A data set as `seedstudy data prepare` writes them, of random values."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from seedstudy.data.spec import FeatureSpec, SplitFile, save_spec
    from seedstudy.documents import sha256_file

    folder.mkdir(parents=True)
    rng, files = np.random.default_rng(1), {}
    for split, count in (("train", rows), ("valid", valid_rows)):
        path, writer = folder / f"{split}.parquet", None
        for start in range(0, count, CHUNK):
            n = min(CHUNK, count - start)
            columns = {
                "display": pa.array(np.arange(start, start + n) // 5),
                "clicked": pa.array((rng.random(n) < 0.2).astype(np.int8)),
            }
            columns |= {f"n{i}": pa.array(rng.standard_normal(n, np.float32)) for i in range(NUMERIC)}
            columns |= {f"c{i}": pa.array((rng.random(n) ** 4 * cardinality(i)).astype(np.int32)) for i in range(ids)}
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
        writer.close()
        files[split] = SplitFile(file=path.name, sha256=sha256_file(path))
    spec = FeatureSpec(
        name="benchmark",
        group="display",
        label="clicked",
        numeric=tuple(f"n{i}" for i in range(NUMERIC)),
        onehot={f"c{i}": cardinality(i) for i in range(ids)},
        splits=files,
    )
    save_spec(spec, folder / "spec.yaml")


def memory() -> dict[str, float]:
    """Peak and present memory of this process, and its share of what it shares, MiB."""
    status, rollup = Path("/proc/self/status").read_text(), Path("/proc/self/smaps_rollup").read_text()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in (status + rollup).splitlines() if line.endswith("kB")}
    return {name: kib[name] / 1024 for name in ("VmHWM", "VmRSS", "Pss")}


def bare(folder: str) -> dict[str, float]:
    """`pyarrow.parquet.read_table` of the training file."""
    import pyarrow.parquet as pq

    before = memory()["VmHWM"]
    began = time.perf_counter()
    table = pq.read_table(Path(folder) / "train.parquet")
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak": memory()["VmHWM"] - before, "resident": table.nbytes / MIB}


def ours(folder: str) -> dict[str, float]:
    """`load`, and a gather of 1,024 rows of the tensor that the engine makes of it.

    The copies are made where absent; else they are mapped.
    """
    import numpy as np
    import pyarrow.parquet  # noqa: F401 - time is counted after imports, as of the bare read
    import tensorflow as tf

    from seedstudy.data.loading import load
    from seedstudy.training.engine import _resident

    rows = tf.constant(np.arange(1024))
    tf.gather(tf.zeros([1024, 3]), rows)
    before = memory()["VmHWM"]
    began = time.perf_counter()
    train = load(Path(folder)).train
    tf.gather(_resident(train), rows).numpy()
    seconds = time.perf_counter() - began
    resident = (train.words.nbytes + train.group.nbytes) / MIB
    # The copy stands in the page cache, not yet in this process.
    return {"seconds": seconds, "peak": memory()["VmHWM"] - before + resident, "resident": resident}


def step(data: str, configuration: str) -> dict[str, float]:
    """A whole step of the default study, and the gather of its batch and the taking apart alone; in turns, ms."""
    import numpy as np

    from seedstudy.study import load_plan
    from seedstudy.training.rank import build_engine

    plan = load_plan(ROOT / "config" / "default.yaml")
    engine, _ = build_engine(plan, plan.configuration(configuration), Path(data))
    import tensorflow as tf

    from seedstudy.training.randomness import keys_of

    places = engine.steps_per_epoch * plan.training.global_batch
    order = tf.constant(np.resize(np.random.default_rng(1).permutation(engine.examples), places).astype(np.int32))

    def batch_of(index):
        start = index * plan.training.global_batch + engine.first_row
        return engine.local_batch_of(None, None, tf.slice(order, [start], [engine.local_batch]))

    @tf.function
    def inputs():
        # Carried from step to step and used at the end, or the graph's optimiser leaves out what nobody reads.
        batch = batch_of(tf.constant(0))
        for index in tf.range(1, engine.steps_per_epoch):
            batch = batch_of(index)
        return [tf.reduce_max(part) for part in batch.values()]

    keys = keys_of(1)
    tasks = {"step": lambda: engine.pass_over(keys, 0), "input": lambda: [part.numpy() for part in inputs()]}
    engine.reset(keys)
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(26):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            if repeat:
                times[name].append(1e3 * (time.perf_counter() - began) / engine.steps_per_epoch)
    return {name: float(np.median(values)) for name, values in times.items()}


def rank(folder: str) -> dict[str, float]:
    """A rank with its data mapped: an order drawn, every row gathered, every validation row scanned."""
    import tensorflow as tf

    from seedstudy.data.loading import load
    from seedstudy.training import randomness
    from seedstudy.training.engine import _resident

    before = memory()
    dataset = load(Path(folder))
    train, valid = _resident(dataset.train), _resident(dataset.valid)

    @tf.function
    def epoch(keys, number):
        order, total = randomness.permutation(keys, number, dataset.train.rows), tf.constant(0.0)
        for start in tf.range(0, dataset.train.rows - 1024, 1024):
            total += tf.gather(train, order[start : start + 1024])[0, 1]
        for start in tf.range(0, dataset.valid.rows - 1024, 1024):
            total += valid[start : start + 1024][0, 1]
        return total

    epoch(randomness.keys_of(1), tf.constant(0, tf.int64)).numpy()
    sum(int(split.words[:, 0].sum() + split.group.sum()) for split in (dataset.train, dataset.valid))
    peak = memory()
    print("ready", flush=True)
    sys.stdin.readline()  # Until all ranks are there, so that shared pages are shared.
    found = memory()
    resident = sum(s.words.nbytes + s.group.nbytes for s in (dataset.train, dataset.valid)) / MIB
    anonymous = peak["VmHWM"] - peak["VmRSS"]
    return {"pss": found["Pss"], "base": before["Pss"], "above": anonymous, "resident": resident}


TASKS = {"bare": bare, "ours": ours, "step": step, "rank": rank}


def start(cores: set[int], task: str, *arguments: str) -> subprocess.Popen[str]:
    variables = {
        **os.environ,
        "OMP_NUM_THREADS": str(len(cores)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    return subprocess.Popen(
        [sys.executable, __file__, "--task", task, *arguments],
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )


def result(process: subprocess.Popen[str]) -> dict[str, float]:
    """What a task prints last."""
    out, _ = process.communicate("\n")
    if process.returncode:
        raise SystemExit(f"{process.args} ended with {process.returncode}")
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


def two_ranks(folder: Path, cores: set[int]) -> dict[str, float]:
    """MiB of two ranks together: shared pages once, and what each held for a moment."""
    ranks = [start(cores, "rank", str(folder)) for _ in range(2)]
    for process in ranks:
        process.stdout.readline()
    # All measure while all are there.
    for process in ranks:
        process.stdin.write("\n")
        process.stdin.flush()
    found = [result(process) for process in ranks]
    total = sum(one["pss"] + one["above"] for one in found)
    return {"total": total, "resident": found[0]["resident"]}


def median_and_range(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{ordered[len(ordered) // 2]:.2f} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


def loading(work: Path, rows: int, repeats: int, cores: set[int]) -> list[str]:
    """Bare read and first load in turns, each in a new process; then a load that finds its copies."""
    folder = work / "load"
    generate(folder, rows, 1024)
    found: dict[str, list[dict[str, float]]] = {"bare": [], "ours": []}
    for _ in range(repeats):
        for task, runs in found.items():
            for copy in folder.glob("*.words"):
                copy.unlink()
            runs.append(result(start(cores, task, str(folder))))
    mapped = result(start(cores, "ours", str(folder)))
    seconds = {task: [run["seconds"] for run in runs] for task, runs in found.items()}
    middle = {task: sorted(values)[len(values) // 2] for task, values in seconds.items()}
    lines = [
        f"## From Parquet to the first batch: {rows:,} rows x 30 columns, {len(cores)} core(s)",
        "",
        "| | s, median (range) | peak memory, MiB | resident, MiB | peak / resident |",
        "|---|---|---|---|---|",
    ]
    for task, name in (("bare", "`pyarrow.parquet.read_table`"), ("ours", "`load` without copies")):
        peak, resident = max(run["peak"] for run in found[task]), found[task][0]["resident"]
        lines.append(
            f"| {name} | {median_and_range(seconds[task])} | {peak:.0f} | {resident:.0f} | {peak / resident:.2f} |"
        )
    lines.append(
        f"| `load` with copies | {mapped['seconds']:.3f} | {mapped['peak']:.0f} | {mapped['resident']:.0f} | |"
    )
    return [*lines, "", f"Speed: {100 * middle['bare'] / middle['ours']:.0f} % of the bare read's.", ""]


def share_of_step(work: Path, cores: set[int]) -> list[str]:
    from seedstudy.data.prepare import prepare
    from seedstudy.study import load_plan

    prepare(load_plan(ROOT / "config" / "default.yaml").data, work / "default", progress=lambda line: None)
    lines = [
        "## Input of a step of the default study, one core",
        "",
        "| | step, ms | input, ms | share |",
        "|---|---|---|---|",
    ]
    for name in ("x86_64_v3-fp32-xla-1w", "x86_64_v3-fp32-noxla-1w"):
        found = result(start({max(cores)}, "step", str(work / "default"), name))
        share = 100 * found["input"] / found["step"]
        lines.append(f"| {name} | {found['step']:.2f} | {found['input']:.3f} | {share:.1f} % |")
    return [*lines, ""]


def memory_of_ranks(work: Path, rows: int, cores: set[int]) -> list[str]:
    lines = [
        f"## Two ranks on one machine, {FULL_WIDTH} words a row and a group",
        "",
        "| training rows | validation rows | resident, MiB | both ranks, MiB |",
        "|---|---|---|---|",
    ]
    points = []
    for part in (rows // 2, rows):
        folder, valid = work / f"ranks-{part}", part * FULL_VALID // FULL_TRAIN
        generate(folder, part, valid, FULL_WIDTH - 1 - NUMERIC)
        result(start(cores, "ours", str(folder)))
        found = two_ranks(folder, cores)
        points.append((part, found["total"]))
        lines.append(f"| {part:,} | {valid:,} | {found['resident']:.0f} | {found['total']:.0f} |")
        shutil.rmtree(folder)
    (few, low), (many, high) = points
    full = (high + (high - low) / (many - few) * (FULL_TRAIN - many)) / 1024
    said = (
        f"By the slope, {FULL_TRAIN:,} and {FULL_VALID:,} rows take {full:.1f} GiB: pages shared counted once, and for"
    )
    return [*lines, "", f"{said} each rank its highest moment, at once."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the loading part")
    parser.add_argument("--ranks-rows", type=int, default=FULL_TRAIN // 10, help="training rows of the two ranks")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        name, *arguments = options.task
        print(json.dumps(TASKS[name](*arguments)))
        return
    cores = os.sched_getaffinity(0)
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name:
        work = Path(name)
        lines = share_of_step(work, cores)
        lines += loading(work, options.rows, options.repeats, cores)
        lines += memory_of_ranks(work, options.ranks_rows, cores)
    # Only here: the report loads what a task's time and memory are not to count.
    from report import publish

    about = (
        "Times and memory are counted after imports, each in a process of its own, in turns; the memory of `load` with "
        "its copy in the page cache."
    )
    publish("The data path", "python benchmarks/data_path.py", about, lines, options.output)


if __name__ == "__main__":
    main()
