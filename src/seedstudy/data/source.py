"""Where a study's data come from: the ``data`` section of a plan.

Each source has a ``recipe``: all that determines the values of the prepared data set and nothing else (no paths).
The run digest is made from it, so that a plan can be digested on a machine that does not have the data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from seedstudy.data.spec import Cardinality, Column, FeatureSpec, Multihot, check_columns
from seedstudy.documents import load_document, sha256_file
from seedstudy.errors import UserError
from seedstudy.fields import PlainName, PositiveInt, Text

RECIPE_VERSION = 1
"""Raised whenever any source would prepare other values from the same settings (a test pins the values)."""

OUTBRAIN_ROWS = 87_141_731
"""Rows of clicks_train.csv in the public competition."""


def _in_folder(path: Path, info: ValidationInfo) -> Path:
    """Take a relative path from the folder in the validation context (the plan's), where there is one."""
    folder = (info.context or {}).get("folder")
    try:
        path = path.expanduser()
    except RuntimeError:
        raise ValueError(f"{path.parts[0]} is nobody's home here; write the path out") from None
    return path if folder is None else Path(folder) / path


LocalPath = Annotated[Path, PlainName, AfterValidator(_in_folder)]
Uint32 = Annotated[int, Field(ge=0, lt=2**32)]


class _Source(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GeneratedOutbrain(_Source):
    """Generated files of the Outbrain competition's form, at any scale.

    Parameters
    ----------
    displays : int
        Displays (slates of 2 to 12 ads) to generate; ads, documents and the like scale with it.
    seed : int
        Seed of the generator and of the split.
    """

    source: Literal["outbrain-generated"]
    displays: Annotated[int, Field(ge=500, le=16_874_593)] = 16_000
    seed: Uint32 = 0

    def recipe(self) -> dict[str, Any]:
        """Return what determines the prepared values, fit for JSON."""
        return {"version": RECIPE_VERSION, "source": self.source, "displays": self.displays, "seed": self.seed}


class Outbrain(_Source):
    """The files of the public Outbrain competition, brought by the user.

    Parameters
    ----------
    raw : Path
        Folder of the CSV files.
    rows : int
        Rows of ``clicks_train.csv``; checked when preparing, so that a cut-down copy is never taken for the whole.
    seed : int
        Seed of the split of displays.
    """

    source: Literal["outbrain"]
    raw: LocalPath
    rows: Annotated[int, Field(ge=1)] = OUTBRAIN_ROWS
    seed: Uint32 = 0

    def recipe(self) -> dict[str, Any]:
        """Return what determines the prepared values, fit for JSON."""
        return {"version": RECIPE_VERSION, "source": self.source, "rows": self.rows, "seed": self.seed}


class MovieLens100K(_Source):
    """MovieLens 100K as slates of one liked film and some films that the user did not rate.

    Parameters
    ----------
    seed : int
        Seed of the negatives.
    negatives : int
        Unrated films in each slate.
    liked : int
        Lowest rating of a liked film.
    train_fraction : float
        Share of the liked ratings, in order of time, that train.
    """

    source: Literal["movielens-100k"]
    seed: Uint32 = 0
    negatives: Annotated[int, Field(ge=1, le=100)] = 11
    liked: Annotated[int, Field(ge=2, le=5)] = 4
    train_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.8

    def recipe(self) -> dict[str, Any]:
        """Return what determines the prepared values, fit for JSON."""
        return {"version": RECIPE_VERSION, **self.model_dump()}


class Interactions(_Source):
    """Interactions of users with items; the latest of each user is held out and ranked among items never touched.

    Parameters
    ----------
    file : Path or None
        CSV, tab-separated (``.tsv``, ``.inter``), Parquet, or MovieLens' ``.dat``. None is MovieLens 100K, which is
        fetched.
    user, item, time : str
        Names of its columns; a ``.dat`` file and MovieLens 100K have none to name.
    rows : int
        Rows of the table; checked when preparing, so that a cut-down copy is never taken for the whole.
    duplicates : {"first", "last", "refuse"}
        Which of a user's interactions with one item counts, in order of time.
    min_interactions : int
        Users with fewer different items are dropped.
    negatives : int
        Items that a held-out one is ranked among, drawn once, of those that the user never interacted with.
    seed : int
        Seed of these, and of the order of a user's interactions at the same time.
    """

    source: Literal["interactions"]
    file: LocalPath | None = None
    user: Text = "user"
    item: Text = "item"
    time: Text = "time"
    rows: Annotated[int, Field(ge=1)] = 100_000
    duplicates: Literal["first", "last", "refuse"] = "last"
    min_interactions: Annotated[int, Field(ge=2)] = 20
    negatives: Annotated[int, Field(ge=1)] = 100
    seed: Uint32 = 0

    @model_validator(mode="after")
    def _three_columns(self) -> Self:
        if len({self.user, self.item, self.time}) < 3:
            raise ValueError("user, item and time name one column twice; name three")
        return self

    def recipe(self) -> dict[str, Any]:
        """Return what determines the prepared values, fit for JSON."""
        fetched = {"table": "movielens-100k"} if self.file is None else {}
        return {"version": RECIPE_VERSION, **self.model_dump(exclude={"file", "user", "item", "time"}), **fetched}


class ParquetData(_Source):
    """Any data set as two Parquet files with a feature specification.

    Parameters
    ----------
    spec : Path
        The specification; it names the files and their SHA-256 (``seedstudy data describe`` fills these in).
    """

    source: Literal["parquet"]
    spec: LocalPath

    def recipe(self) -> dict[str, Any]:
        """Return what determines the prepared values, fit for JSON.

        Raises
        ------
        UserError
            If the specification is missing, malformed, or lacks the SHA-256 of a file.
        """
        spec = load_document(self.spec, FeatureSpec)
        for split, file in spec.splits.items():
            if file.sha256 is None:
                raise UserError(
                    f"{self.spec}: splits.{split}.sha256",
                    f"missing; `seedstudy data describe {self.spec}` fills it in",
                )
        return {
            "version": RECIPE_VERSION,
            "source": self.source,
            "spec": sha256_file(self.spec),
            "files": {split: file.sha256 for split, file in spec.splits.items()},
        }


class Synthetic(_Source):
    """Random rows of given shapes, with nothing to learn in them: to time a model at its full size.

    Parameters
    ----------
    rows, valid_rows : int
        Rows of the two splits.
    numeric : int
        Numeric columns.
    onehot : dict of str to int
        Categorical columns and their cardinalities.
    multihot : dict of str to Multihot
        The same of lists.
    seed : int
        Seed of all values.
    """

    group: ClassVar[str] = "slate"
    label: ClassVar[str] = "label"

    source: Literal["synthetic"]
    rows: PositiveInt
    valid_rows: PositiveInt
    numeric: Annotated[int, Field(ge=0, le=10_000)]
    onehot: dict[Column, Cardinality]
    multihot: dict[Column, Multihot] = {}
    seed: Uint32 = 0

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        return tuple(f"number_{index}" for index in range(self.numeric))

    @model_validator(mode="after")
    def _columns(self) -> Self:
        check_columns((self.group, self.label, *self.numbers, *self.onehot, *self.multihot))
        return self

    def recipe(self) -> dict[str, Any]:
        """Return what determines the prepared values, fit for JSON."""
        return {"version": RECIPE_VERSION, **self.model_dump()}


DataSource = Annotated[
    GeneratedOutbrain | Outbrain | MovieLens100K | Interactions | ParquetData | Synthetic,
    Field(discriminator="source"),
]
