"""The work that the peers share: what the plan asks for and the prepared rows, read as an outside user would."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import yaml


@dataclass(frozen=True)
class Rows:
    """A split: `ids` holds the one-hot columns, then each multi-hot column's ids."""

    numeric: Any
    ids: Any
    label: Any
    group: Any


@dataclass(frozen=True)
class Feature:
    """A categorical feature: its columns in `Rows.ids`, its ids, the width of its embedding."""

    columns: slice
    cardinality: int
    width: int

    @property
    def hotness(self) -> int:
        return self.columns.stop - self.columns.start


@dataclass(frozen=True)
class Work:
    """Blocks `training` and `model` of the plan, features and rows."""

    training: dict[str, Any]
    model: dict[str, Any]
    features: list[Feature]
    train: Rows
    valid: Rows

    @property
    def steps(self) -> int:
        """Steps of an epoch; the last batch is filled up with rows of the next pass."""
        return -(-len(self.train.label) // self.training["global_batch"])

    @property
    def embedding_sd(self) -> dict[int, float]:
        """SD of the initial embeddings, by width."""
        return {f.width: self.model["embedding_scale"] * f.width**-0.5 for f in self.features}

    def rates(self) -> Any:
        """Learning rate of the deep part at each step: a linear warm-up, a quarter, an eighth."""
        deep, epochs = self.model["deep"], self.training["epochs"]
        epoch = np.arange(epochs * self.steps) / self.steps
        warm = deep["warmup_epochs"]
        factor = np.where(epoch < warm + (epochs - warm) / 2, 1 / 4, 1 / 8)
        factor = np.where(epoch < warm, (epoch + 1 / self.steps) / max(warm, 1 / self.steps), factor)
        return (deep["learning_rate"] * factor).astype(np.float32)


def read_work(plan: Path, data: Path) -> Work:
    document = yaml.safe_load(plan.read_text())
    spec = yaml.safe_load((data / "spec.yaml").read_text())
    widths = document["model"]["embedding_widths"]
    sizes = [(name, 1, cardinality) for name, cardinality in spec["onehot"].items()]
    sizes += [(name, column["hotness"], column["cardinality"]) for name, column in spec["multihot"].items()]
    features, start = [], 0
    for name, hotness, cardinality in sizes:
        width = widths["exceptions"].get(name, widths["default"])
        features.append(Feature(slice(start, start + hotness), cardinality, width))
        start += hotness
    train, valid = (_read(data / spec["splits"][split]["file"], spec) for split in ("train", "valid"))
    return Work(document["training"], document["model"], features, train, valid)


def _read(path: Path, spec: dict[str, Any]) -> Rows:
    table = pq.read_table(path)
    columns = [table[name].to_numpy() for name in spec["onehot"]]
    for name, column in spec["multihot"].items():
        flat = table[name].combine_chunks().flatten().to_numpy()
        columns += list(flat.reshape(-1, column["hotness"]).T)
    numeric = np.stack([table[name].to_numpy() for name in spec["numeric"]], axis=1)
    label = table[spec["label"]].to_numpy().astype(np.float32)
    return Rows(numeric.astype(np.float32), np.stack(columns, axis=1), label, table[spec["group"]].to_numpy())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    return parser.parse_args()


def report(began: float, work: Work, logits: Any) -> None:
    """Print MAP@12 of the evaluation rows, and the seconds since the process began its work."""
    from seedstudy.metrics import mean_average_precision

    scores = np.asarray(logits, np.float64)
    value = mean_average_precision(scores, work.valid.label, work.valid.group, 12).value
    print(json.dumps({"map12": value, "seconds": time.perf_counter() - began}))
