"""Random numbers: known answers of Philox, the same bits compiled or not, slices, and distributions."""

import numpy as np
import pytest
import tensorflow as tf

from seedstudy.training import randomness
from seedstudy.training.randomness import Stream

ZERO = tf.constant(0, tf.int64)
KEY = randomness.keys_of(2026)


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 as its paper writes it (Salmon et al., SC 2011), in Python integers."""
    c, k = list(counter), list(key)
    for turn in range(10):
        if turn:
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(high >> 32) ^ c[1] ^ k[0], high % 2**32, (low >> 32) ^ c[3] ^ k[1], low % 2**32]
    return c


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    # Known-answer tests published with Random123 1.14 (kat_vectors, philox4x32 10).
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_the_oracle_gives_the_published_known_answers(counter, key, answer):
    assert philox(counter, key) == answer


@pytest.mark.parametrize(
    ("seed", "member", "step", "first"), [(0, 0, 0, 0), (2**63 - 1, 5, 123, 16), (77, 65535, 9, 8)]
)
def test_lanes_are_philox_of_seed_stream_and_step(seed, member, step, first):
    found = randomness.lanes(
        randomness.keys_of(seed), Stream.DROPOUT, member, tf.constant(step, tf.int64), first, 16
    ).numpy()
    high = ((int(Stream.DROPOUT) * 65536 + member) << 40) + step
    words = []
    for block in (first // 8, first // 8 + 1):
        words += philox([block, 0, high % 2**32, high >> 32], [seed % 2**32, seed >> 32])
    expected = [half for word in words for half in (word % 65536, word >> 16)]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "draw",
    [
        lambda: randomness.uniform(KEY, Stream.WEIGHTS, 3, (37, 11), 0.3),
        lambda: randomness.normal(KEY, Stream.WEIGHTS, 3, (37, 11), 0.3),
        lambda: randomness.lanes_of_rows(KEY, Stream.DROPOUT, 1, tf.constant(7, tf.int64), 24, 10, 16),
    ],
)
def test_bits_are_the_same_compiled_or_not(draw):
    plain = draw().numpy()
    for compiled in (False, True):
        graph = tf.function(draw, jit_compile=compiled, autograph=False)
        assert graph().numpy().tobytes() == plain.tobytes()


@pytest.mark.parametrize("compute", [tf.float32, tf.bfloat16, tf.float16])
@pytest.mark.parametrize("compiled", [False, True])
def test_dropout_keeps_the_same_units_in_every_precision(compute, compiled):
    numbers = randomness.lanes_of_rows(KEY, Stream.DROPOUT, 0, ZERO, 0, 64, 32)
    drop = tf.function(lambda value: randomness.dropout(value, 0.1, numbers), jit_compile=compiled, autograph=False)
    kept = drop(tf.ones((64, 32), compute)).numpy().astype(float) != 0
    assert (kept == (numbers.numpy() >= round(0.1 * 65536))).all()


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_draw_their_slices_of_the_global_batch(ranks):
    whole = randomness.lanes_of_rows(KEY, Stream.DROPOUT, 2, tf.constant(5, tf.int64), 0, 64, 24).numpy()
    share = 64 // ranks
    parts = [
        randomness.lanes_of_rows(KEY, Stream.DROPOUT, 2, tf.constant(5, tf.int64), rank * share, share, 24).numpy()
        for rank in range(ranks)
    ]
    assert (np.concatenate(parts) == whole).all()


def test_an_order_is_that_of_the_drawn_keys_and_equal_keys_by_row(monkeypatch):
    epoch = tf.constant(3, tf.int64)
    high, low = randomness.lanes(KEY, Stream.ORDER, 0, epoch, 0, 2 * 1001).numpy().reshape(-1, 2).T.tolist()
    expected = sorted(range(1001), key=lambda row: (high[row], low[row], row))
    graph = tf.function(lambda: randomness.permutation(KEY, epoch, 1001))
    assert randomness.permutation(KEY, epoch, 1001).numpy().tolist() == graph().numpy().tolist() == expected
    monkeypatch.setattr(randomness, "lanes", lambda *_: tf.constant([9, 1, 0, 65535, 9, 1, 65535, 0, 9, 0], tf.uint16))
    assert randomness.permutation(KEY, epoch, 5).numpy().tolist() == [1, 4, 0, 2, 3]


def test_an_order_holds_each_row_once_and_differs_by_epoch_and_seed():
    orders = [
        randomness.permutation(randomness.keys_of(seed), tf.constant(epoch, tf.int64), 500).numpy()
        for seed, epoch in ((1, 0), (1, 1), (2, 0))
    ]
    for order in orders:
        assert sorted(order.tolist()) == list(range(500))
    assert len({order.tobytes() for order in orders}) == 3


def test_distributions_of_initial_weights():
    # 200,000 draws: the standard error of a mean is 0.0022 SD, of an SD 0.0016 SD; five of each are allowed.
    uniform = randomness.uniform(KEY, Stream.WEIGHTS, 0, (200_000,), 0.5).numpy()
    normal = randomness.normal(KEY, Stream.WEIGHTS, 1, (200_000,), 2.0).numpy()
    assert abs(uniform.mean()) < 5 * 0.0022 * 0.2887
    assert uniform.std() == pytest.approx(0.5 / 3**0.5, rel=5 * 0.0016)
    assert np.abs(uniform).max() < 0.5
    assert abs(normal.mean()) < 5 * 0.0022 * 2
    assert normal.std() == pytest.approx(2.0, rel=5 * 0.0016)
    assert (np.abs(normal) > 4).mean() == pytest.approx(0.0455, abs=0.003)  # P(|Z| > 2)


def test_dropout_drops_its_share_and_keeps_the_mean():
    numbers = randomness.lanes_of_rows(KEY, Stream.DROPOUT, 0, ZERO, 0, 2000, 64)
    dropped = randomness.dropout(tf.ones((2000, 64)), 0.25, numbers).numpy()
    assert (dropped == 0).mean() == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 128_000) ** 0.5)
    assert set(np.unique(dropped)) == {0, np.float32(1 / 0.75)}


def test_a_stream_without_that_member_is_refused():
    with pytest.raises(ValueError, match="no 65536"):
        randomness.lanes(KEY, Stream.ORDER, 65536, ZERO, 0, 8)
