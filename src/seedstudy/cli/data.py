"""`seedstudy data`: prepare the data of a plan, describe a data set of one's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from seedstudy.cli import app

data = typer.Typer(no_args_is_help=True, help="Prepare the data of a plan, or describe a data set of your own.")
app.add_typer(data, name="data")


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@data.command()
def prepare(
    plan: Annotated[Path, typer.Option(help="Plan whose data section to prepare.")],
    output: Annotated[
        Path, typer.Option(help="Folder to make: Parquet files, their rows to map, spec.yaml, manifest.json.")
    ],
    raw: Annotated[Path | None, typer.Option(help="Keep the generated raw files here (generated data only).")] = None,
) -> None:
    """Prepare the data of a plan, and print its manifest: hashes of the splits, baselines, terms.

    Example: seedstudy data prepare --plan config/movielens.yaml --output build/movielens
    """
    from seedstudy.data.prepare import prepare as prepare_source
    from seedstudy.study import load_plan

    manifest = prepare_source(load_plan(plan).data, output, raw=raw, progress=_progress)
    typer.echo(json.dumps(manifest, indent=2, ensure_ascii=False))


@data.command()
def describe(
    spec: Annotated[Path, typer.Argument(help="Feature specification; its SHA-256 sums are filled in.")],
) -> None:
    """Check a data set against its feature specification, and write the SHA-256 of its files into it.

    Example: seedstudy data describe my-data/spec.yaml
    """
    from seedstudy.data.loading import read_dataset
    from seedstudy.data.spec import FeatureSpec, save_spec
    from seedstudy.documents import load_document, sha256_file

    found = load_document(spec, FeatureSpec)
    splits = {
        name: split.model_copy(update={"sha256": sha256_file(spec.parent / split.file)})
        for name, split in found.splits.items()
    }
    described = found.model_copy(update={"splits": splits})
    dataset = read_dataset(described, spec)
    save_spec(described, spec)
    typer.echo(f"{spec}: {dataset.train.rows} training and {dataset.valid.rows} validation rows, as described")
