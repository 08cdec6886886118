"""What this machine can do at best: the work of a step that cannot be left out, timed by itself.

A limit is what was reached once: the least of a few times counts, and layers of one shape are timed as one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import tensorflow as tf

from seedstudy.models.network import Parameter
from seedstudy.training.engine import Engine

CALLS = 5
COPIED_BYTES = 1 << 28


def products_seconds(parameters: Sequence[Parameter], rows: int, compute: Any, backward: bool) -> float:
    """Time of a network's matrix products alone.

    Parameters
    ----------
    parameters : sequence of Parameter
        The two-dimensional ones that are no tables are multiplied with.
    rows : int
        Rows of a batch on this rank.
    compute : tf.DType
        Type of the products.
    backward : bool
        Whether the products of both gradients are added.

    Returns
    -------
    float
        Seconds: for each product the fastest of TensorFlow's, XLA's and, in float32, NumPy's.
    """
    total = 0.0
    for parameter in parameters:
        if len(parameter.shape) == 2 and not parameter.lookups:
            depth, width = parameter.shape
            total += _product_seconds(rows, depth, width, compute)
            if backward:
                total += _product_seconds(depth, rows, width, compute) + _product_seconds(rows, width, depth, compute)
    return total


def memory_seconds(engine: Engine) -> float:
    """Time in which this machine copies as many bytes as an update must move.

    Gradients are read; weights and what the optimisers keep are read and written. Looking up and adding up rows of
    embeddings is left out, so that this is less than a step moves.

    Parameters
    ----------
    engine : Engine

    Returns
    -------
    float
        Seconds.
    """
    source, target = np.ones(COPIED_BYTES, np.uint8), np.empty(COPIED_BYTES, np.uint8)
    second_bytes = 2 * COPIED_BYTES / min(timed(lambda: np.copyto(target, source)))
    numbers = 0
    for group in engine.weights.flat:
        size = sum(int(np.prod(variable.shape)) for variable in engine.weights.variables(group))
        numbers += 3 * size + 2 * engine.state_size(group)
    return 4 * numbers / second_bytes


def timed(call: Callable[[], Any]) -> list[float]:
    """Seconds of each of a few calls, after one that is not counted."""
    call()
    return [seconds(call) for _ in range(CALLS)]


def seconds(call: Callable[[], Any]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


@cache
def _product_seconds(rows: int, depth: int, width: int, compute: Any) -> float:
    rng = np.random.default_rng(0)
    left, right = rng.random((rows, depth), np.float32), rng.random((depth, width), np.float32)
    a, b = tf.cast(left, compute), tf.cast(right, compute)
    compiled = tf.function(tf.linalg.matmul, jit_compile=True, autograph=False)
    candidates: list[Callable[[], Any]] = [lambda: tf.linalg.matmul(a, b), lambda: compiled(a, b)]
    if compute == tf.float32:
        # Beside small products the call into TensorFlow would count; NumPy's costs nearly nothing.
        candidates.append(lambda: np.matmul(left, right))
    # A small product is over before the clock can tell: it is timed several times together.
    repeats = min(50, max(1, 10_000_000 // (rows * depth * width)))
    return min(min(timed(partial(_times, repeats, call))) / repeats for call in candidates)


def _times(repeats: int, call: Callable[[], Any]) -> None:
    for _ in range(repeats):
        call()
