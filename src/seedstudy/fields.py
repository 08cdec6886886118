"""Types of values that several schemas share."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

Text = Annotated[str, Field(min_length=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
# Rows, ids and steps are int32 where TensorFlow counts them.
PositiveInt = Annotated[int, Field(ge=1, le=2**31 - 1)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


def plain_name(value: Any) -> Any:
    """Refuse a name that no file or column has, or that a terminal would not show as it is."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("is empty; write a name")
        if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in value):
            raise ValueError("holds a control character, such as a line break; write a name without")
    return value


def workflow_path(value: str) -> str:
    """Refuse a path that Snakemake or a command would not take as a name: a pattern, or an option."""
    plain_name(value)
    if set(value) & set("{}"):
        raise ValueError("holds a brace, which Snakemake takes for a wildcard; write a name without")
    if value.startswith("-"):
        raise ValueError("starts with a dash, as an option does; write ./ before it")
    return value


PlainName = BeforeValidator(plain_name)
"""Mark of the name of a file or column in a schema."""

WorkflowPath = Annotated[str, AfterValidator(workflow_path)]
"""A path that is an input or output of the workflow; its rules quote it, so blanks and quotes are fine."""
