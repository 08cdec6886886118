"""Every random number of a training, as a pure function of (seed, stream, step).

The generator is Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): the key is the
seed (of all streams, unless one is varied alone), the 128-bit counter is (stream, step, block). Nothing is consumed, so
a draw does not depend on what was drawn before it, and a rank can draw its own rows of a global batch by starting at a
later block.

Only full-range integers are asked of TensorFlow, and only exact operations follow (integer sums, comparisons, one
rounding): TensorFlow's ready-made uniforms and normals differ between compiled and uncompiled code, these bits do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

PHILOX = 1  # tf.random.Algorithm.PHILOX, as the raw operation takes it
LANES = 8  # 16-bit numbers in one 128-bit block
STEP_BITS = 40
STREAM_MEMBERS = 1 << 16
NORMALS_AT_ONCE = 1 << 20  # a multiple of LANES


class Stream(IntEnum):
    """What a number is drawn for; each kind has `STREAM_MEMBERS` members (a parameter, a layer)."""

    WEIGHTS = 1
    ORDER = 2
    DROPOUT = 3
    EXAMPLES = 4


def keys_of(seed: int, replaced: Mapping[Stream, int] | None = None) -> tf.Tensor:
    """Key of each stream.

    Parameters
    ----------
    seed : int
        The run's seed, below 2 ** 64.
    replaced : mapping of Stream to int, optional
        Streams that are drawn from a seed of their own.

    Returns
    -------
    tensor of uint64, shape (streams,)
        In the order of `Stream`.
    """
    return tf.constant([(replaced or {}).get(stream, seed) for stream in Stream], tf.uint64)


def lanes(
    keys: tf.Tensor, stream: Stream, member: int, step: tf.Tensor, first: int | tf.Tensor, count: int
) -> tf.Tensor:
    """16-bit random numbers.

    Parameters
    ----------
    keys : tensor of uint64, shape (streams,)
        From `keys_of` the run's seed.
    stream, member : Stream, int
        What is drawn: the kind and which of its members.
    step : tensor of int64, shape ()
        Step (dropout, examples), epoch (order) or 0 (weights); below 2 ** 40.
    first, count : int
        Which numbers of the sequence: `first` must be a multiple of 8 and `count` is a Python integer.

    Returns
    -------
    tensor of uint16, shape (count,)
        Uniform over 0 .. 65535.

    Raises
    ------
    ValueError
        `member` does not fit its stream.
    """
    if not 0 <= member < STREAM_MEMBERS:
        raise ValueError(f"stream {stream.name} has {STREAM_MEMBERS} members; there is no {member}")
    kind = (int(stream) * STREAM_MEMBERS + member) << STEP_BITS
    high = tf.constant(kind, tf.uint64) + tf.cast(step, tf.uint64)
    low = tf.cast(first // LANES, tf.uint64)
    words = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[-(-count // 2)],
        key=tf.reshape(keys[stream - 1], [1]),
        counter=tf.stack([low, high]),
        alg=PHILOX,
        dtype=tf.uint32,
    )
    return tf.reshape(tf.bitcast(words, tf.uint16), [-1])[:count]


def uniform(keys: tf.Tensor, stream: Stream, member: int, shape: tuple[int, ...], limit: float) -> tf.Tensor:
    """Uniform numbers in (-limit, limit), for initial weights.

    Parameters
    ----------
    keys, stream, member
        As for `lanes`.
    shape : tuple of int
        Shape of the result.
    limit : float
        Half-width of the interval.

    Returns
    -------
    tensor of float32
        Midpoints of 2 ** 16 equal cells: symmetric, never 0, one rounding each.
    """
    size = _size(shape)
    number = tf.cast(lanes(keys, stream, member, tf.constant(0, tf.int64), 0, size), tf.int32)
    centred = tf.cast(2 * number - 65535, tf.float32)
    return tf.reshape(centred * tf.constant(limit / 65536, tf.float32), shape)


def normal(keys: tf.Tensor, stream: Stream, member: int, shape: tuple[int, ...], sd: float) -> tf.Tensor:
    """Approximately normal numbers, for initial weights: the sum of 12 uniforms (Irwin-Hall).

    Mean 0, standard deviation `sd`, excess kurtosis -0.1, bounded at 6 `sd`. The logarithm and cosine of exact
    methods are rounded differently by different compilers; an integer sum is not.

    Parameters
    ----------
    keys, stream, member, shape
        As for `uniform`.
    sd : float
        Standard deviation.

    Returns
    -------
    tensor of float32
    """
    terms = 12
    size = _size(shape)
    # In parts, since twelve numbers each of a whole large table would be many times its size.
    part = min(size, NORMALS_AT_ONCE)

    def total_of(index: tf.Tensor) -> tf.Tensor:
        numbers = lanes(keys, stream, member, tf.constant(0, tf.int64), index * (terms * part), terms * part)
        return tf.reduce_sum(tf.reshape(tf.cast(numbers, tf.int32), [part, terms]), axis=1)

    parts = tf.range(-(-size // part), dtype=tf.int64)
    total = tf.map_fn(total_of, parts, parallel_iterations=1, fn_output_signature=tf.int32)
    # One uniform has variance (65536 ** 2 - 1) / 12, twelve of them 65536 ** 2 - 1; doubled to stay an integer.
    centred = tf.cast(2 * tf.reshape(total, [-1])[:size] - terms * 65535, tf.float32)
    return tf.reshape(centred * tf.constant(sd / (2 * (65536**2 - 1) ** 0.5), tf.float32), shape)


def permutation(keys: tf.Tensor, epoch: tf.Tensor, rows: int) -> tf.Tensor:
    """Order of the training rows in an epoch: sorted by a random key, equal keys by row.

    Parameters
    ----------
    keys : tensor of uint64, shape (streams,)
        From `keys_of` the run's seed.
    epoch : tensor of int64, shape ()
        Counted from 0.
    rows : int
        Number of rows.

    Returns
    -------
    tensor of int32, shape (rows,)
        Each of 0 .. rows - 1 once.
    """
    order = tf.numpy_function(_order, [lanes(keys, Stream.ORDER, 0, epoch, 0, 2 * rows)], tf.int32, stateful=False)
    return tf.ensure_shape(order, [rows])


def _order(numbers: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Rows by their keys of two numbers each, in NumPy: TensorFlow's sort takes many times the time and memory."""
    keys = numbers[0::2].astype(np.uint64)
    for bits, addend in ((16, numbers[1::2]), (31, np.arange(len(keys), dtype=np.uint32))):
        keys <<= np.uint64(bits)
        keys |= addend
    keys.sort()
    keys &= np.uint64(2**31 - 1)
    return keys.astype(np.int32)


def lanes_of_rows(
    keys: tf.Tensor, stream: Stream, member: int, step: tf.Tensor, first_row: int, rows: int, width: int
) -> tf.Tensor:
    """Random numbers for a rank's rows of a step.

    Parameters
    ----------
    keys : tensor of uint64, shape (streams,)
        From `keys_of` the run's seed.
    stream, member : Stream, int
        As for `lanes`: the dropout of which layer, or examples drawn.
    step : tensor of int64, shape ()
        Training step, from 0.
    first_row : int
        Place of the first of these rows in the global batch; times the width a multiple of 8.
    rows, width : int
        Rows of this rank, numbers for each.

    Returns
    -------
    tensor of uint16, shape (rows, width)
        A slice of the global batch's numbers, however many ranks share it.
    """
    return tf.reshape(lanes(keys, stream, member, step, first_row * width, rows * width), [rows, width])


def dropout(value: tf.Tensor, rate: float, numbers: tf.Tensor) -> tf.Tensor:
    """Zero each activation with probability `rate` and scale the others (Srivastava et al., JMLR 2014).

    Parameters
    ----------
    value : tensor of float, shape (rows, width)
        Activations.
    rate : float
        Rounded to a multiple of 1 / 65536.
    numbers : tensor of uint16, shape (rows, width)
        As `lanes_of_rows` draws them.

    Returns
    -------
    tensor like `value`
    """
    dropped = round(rate * 65536)
    keep = tf.cast(numbers, tf.int32) >= dropped
    scale = tf.constant(65536 / (65536 - dropped), value.dtype)
    return tf.where(keep, value * scale, tf.zeros_like(value))


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
