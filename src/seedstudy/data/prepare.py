"""From a source to a prepared data set: two Parquet files, their specification and a manifest, published whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedstudy.data.loading import Dataset, Split, copy_name, load, load_described
from seedstudy.data.source import (
    DataSource,
    GeneratedOutbrain,
    Interactions,
    MovieLens100K,
    Outbrain,
    ParquetData,
    Synthetic,
)
from seedstudy.data.spec import FeatureSpec, Multihot, SplitFile, save_spec
from seedstudy.documents import sha256_file, write_atomically, writing
from seedstudy.errors import UserError
from seedstudy.metrics import held_out_ranking, mean_average_precision

RANKINGS: dict[str, Callable[..., float]] = {
    "map12": lambda scores, labels, groups: mean_average_precision(scores, labels, groups, 12).value,
    "hr10": lambda scores, labels, groups: held_out_ranking(scores, labels, groups, 10).hit_rate,
}
"""Metrics of the baselines."""

BROUGHT = "Brought by the user; their terms apply."

COPIES = (copy_name("train"), copy_name("valid"))
PUBLISHED = ("train.parquet", "valid.parquet", "spec.yaml", "manifest.json", *COPIES)

ROW_GROUP = 1 << 17
"""Rows of a row group of the Parquet files."""


@dataclass(frozen=True)
class Prepared:
    """A source turned into features, not yet written.

    Parameters
    ----------
    name, group, label : str
        As in `FeatureSpec`.
    numeric : tuple of str
    onehot : dict of str to int
    multihot : dict of str to Multihot
    train, valid : pl.DataFrame
        Columns of these names: Int64 group, label 0 / 1, Float32, Int32 and Array(Int32, hotness).
    baselines : dict of str to float array, shape (valid rows,)
        Scores of simple rankings of the validation rows, fitted on train.
    terms : str
        Acknowledgement and terms of use of the data.
    ranking : str
        Metric of the baselines, of `RANKINGS`.
    """

    name: str
    group: str
    label: str
    numeric: tuple[str, ...]
    onehot: dict[str, int]
    multihot: dict[str, Multihot]
    train: pl.DataFrame
    valid: pl.DataFrame
    baselines: dict[str, NDArray[np.float64]]
    terms: str
    ranking: str = "map12"


def prepare(
    source: DataSource, output: Path, *, raw: Path | None = None, progress: Callable[[str], None] = print
) -> dict[str, Any]:
    """Prepare a data set and publish it as a folder, whole or not at all.

    Parameters
    ----------
    source : DataSource
        The ``data`` section of a plan.
    output : Path
        The folder to make: ``train.parquet``, ``valid.parquet``, ``spec.yaml``, ``manifest.json``, and the rows as
        they stand in memory, ``train.words`` and ``valid.words``. One prepared earlier is replaced.
    raw : Path, optional
        Keep the generated raw files in this new folder, outside ``output`` (source ``outbrain-generated`` only).
    progress : callable
        Takes one line at a time.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    UserError
        If the source cannot be read, the output cannot be written, or a folder is there that would be overwritten.
    """
    _check_replaceable(output)
    if raw is not None:
        _make_raw(raw, source, output)
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}."))
    try:
        prepared = _prepare(source, output, work, raw, progress)
        with writing(output):
            folder = work / "published"
            folder.mkdir()
            manifest = _write(prepared, source, folder, progress)
            _publish(folder, output, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def _prepare(
    source: DataSource, output: Path, work: Path, raw: Path | None, progress: Callable[[str], None]
) -> Prepared:
    # Imported here: the sources need `Prepared`.
    from seedstudy.data import interactions, movielens, outbrain, synthetic
    from seedstudy.data.generator import generate

    match source:
        case GeneratedOutbrain():
            folder = work / "raw" if raw is None else raw
            progress(f"data: generating {source.displays:,} displays")
            with writing(output.parent if raw is None else raw):
                rows = generate(folder, displays=source.displays, seed=source.seed)
            return outbrain.prepare(folder, rows=rows, seed=source.seed, generated=True, progress=progress)
        case Outbrain():
            return outbrain.prepare(source.raw, rows=source.rows, seed=source.seed, generated=False, progress=progress)
        case MovieLens100K():
            return movielens.prepare(source, progress=progress)
        case Interactions():
            return interactions.prepare(source, progress=progress)
        case ParquetData():
            source.recipe()  # Refuses a specification without checksums before anything is read.
            progress(f"data: checking {source.spec}")
            return _from_dataset(load_described(source.spec))
        case Synthetic():
            progress(f"data: drawing {source.rows:,} + {source.valid_rows:,} random rows")
            return synthetic.prepare(source)
        case _:
            assert_never(source)


def _from_dataset(dataset: Dataset) -> Prepared:
    spec = dataset.spec
    return Prepared(
        name=spec.name,
        group=spec.group,
        label=spec.label,
        numeric=spec.numeric,
        onehot=spec.onehot,
        multihot=spec.multihot,
        train=_frame(spec, dataset.train),
        valid=_frame(spec, dataset.valid),
        baselines={},
        terms=BROUGHT,
    )


def _frame(spec: FeatureSpec, split: Split) -> pl.DataFrame:
    columns: dict[str, NDArray[Any]] = {spec.group: split.group, spec.label: split.label.astype(np.int8)}
    columns |= {name: split.numeric[:, index] for index, name in enumerate(spec.numeric)}
    columns |= {name: split.categorical[:, index] for index, name in enumerate(spec.onehot)}
    at = len(spec.onehot)
    for name, multihot in spec.multihot.items():
        columns[name] = np.ascontiguousarray(split.categorical[:, at : at + multihot.hotness])
        at += multihot.hotness
    return pl.DataFrame(columns)


def _write(prepared: Prepared, source: DataSource, folder: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """Write the files into ``folder`` and return the manifest."""
    files = {}
    for split, frame in (("train", prepared.train), ("valid", prepared.valid)):
        progress(f"data: writing {split}, {frame.height:,} rows")
        path = folder / f"{split}.parquet"
        pq.write_table(_arrow(frame), path, compression="zstd", row_group_size=ROW_GROUP)
        files[split] = SplitFile(file=path.name, sha256=sha256_file(path))
    spec = FeatureSpec.model_validate(
        {
            "name": prepared.name,
            "group": prepared.group,
            "label": prepared.label,
            "numeric": prepared.numeric,
            "onehot": prepared.onehot,
            "multihot": prepared.multihot,
            "splits": files,
        }
    )
    save_spec(spec, folder / "spec.yaml")
    dataset = load(folder)
    manifest = {
        "name": prepared.name,
        "recipe": source.recipe(),
        "data_hash": dataset.content_sha256(),
        "splits": {"train": _summary(dataset.train), "valid": _summary(dataset.valid)},
        f"baselines_{prepared.ranking}": _baselines(prepared, dataset.valid),
        "terms": prepared.terms,
    }
    write_atomically(folder / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return manifest


def _arrow(frame: pl.DataFrame) -> pa.Table:
    """Return the frame as Arrow, its lists of fixed size and all values non-null."""
    table = frame.to_arrow()
    return table.replace_schema_metadata(None)


def _summary(split: Split) -> dict[str, Any]:
    return {
        "rows": split.rows,
        "displays": len(np.unique(split.group)),
        "positives": int(split.label.sum(dtype=np.float64)),
        "content_sha256": split.content_sha256(),
    }


def _baselines(prepared: Prepared, valid: Split) -> dict[str, float]:
    if not valid.label.any():
        raise UserError(f"{prepared.name}: column {prepared.label}", "no row of the validation split is 1")
    # With all scores tied, the expected value over the order of ties is that of random order.
    scores = {"random order": np.zeros(valid.rows), **prepared.baselines}
    ranking = RANKINGS[prepared.ranking]
    return {name: ranking(score, valid.label, valid.group) for name, score in scores.items()}


def _check_replaceable(output: Path) -> None:
    if output.is_symlink() or (output.exists() and not output.is_dir()):
        raise UserError(output, "exists and is not a folder; name another output")
    if output.is_dir():
        # A copy's temporary file is left only by a process that was killed; the other is in each folder of Snakemake.
        left = (*(f".{name}." for name in COPIES), ".snakemake_timestamp")
        others = sorted(e.name for e in output.iterdir() if e.name not in PUBLISHED and not e.name.startswith(left))
        if others:
            raise UserError(output, f"holds {others[0]!r}, so it is not a prepared data set; name another output")


def _make_raw(raw: Path, source: DataSource, output: Path) -> None:
    """Make the folder of the raw files: a new or empty one, since files of their names may be the competition's."""
    if not isinstance(source, GeneratedOutbrain):
        raise UserError("--raw", f"only generated files can be kept; the source is {source.source}")
    if raw.resolve().is_relative_to(output.resolve()):
        raise UserError("--raw", f"{raw} lies in the output, which is replaced whole; name another folder")
    with writing(raw):
        raw.mkdir(parents=True, exist_ok=True)
        kept = next(raw.iterdir(), None)
    if kept is not None:
        raise UserError(raw, f"holds {kept.name!r}; name a new folder")


def _publish(folder: Path, output: Path, work: Path) -> None:
    """Rename the finished folder into place; a data set already there goes to ``work``, to be removed."""
    if output.exists():
        os.rename(output, work / "replaced")
    os.rename(folder, output)
