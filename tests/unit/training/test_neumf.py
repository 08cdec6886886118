"""NeuMF against a NumPy oracle, and what it draws against sets of known interactions."""

import numpy as np
import pytest
import tensorflow as tf

from seedstudy.data.loading import Dataset, Split
from seedstudy.data.spec import FeatureSpec, SplitFile
from seedstudy.errors import UserError
from seedstudy.models.neumf import Settings
from seedstudy.models.neumf.network import NeuMF
from seedstudy.study import Configuration, Training
from seedstudy.training import randomness
from seedstudy.training.communication import Communicator
from seedstudy.training.engine import Engine

USERS, ITEMS = 6, 20
DRAWN = np.arange(64) % 48 * 4 + 1  # the first negative of each of the 48 rows, of four examples each


def config(**changes) -> Settings:
    fields = {"name": "neumf", "factors": 4, "layers": [6, 8], "dropout": 0.0, "negatives": 3}
    return Settings.model_validate(fields | {"adam": {"learning_rate": 0.01}} | changes)


def split(pairs, label, slate) -> Split:
    pairs = np.array(pairs, np.int32).reshape(-1, 2)
    return Split.of(np.empty((len(pairs), 0), np.float32), pairs, np.array(label, np.float32), np.array(slate))


@pytest.fixture(scope="module")
def interactions() -> Dataset:
    rng = np.random.default_rng(8)
    # User 0 has all items but the last, user 1 the first alone, the others some.
    touched = [np.arange(ITEMS - 1), np.array([0]), *(rng.choice(ITEMS, 7, replace=False) for _ in range(USERS - 2))]
    train = [(user, item) for user, items in enumerate(touched) for item in items]
    valid = [(user, item) for user in range(USERS) for item in rng.choice(ITEMS, 5, replace=False)]
    spec = FeatureSpec(
        name="tiny",
        group="slate",
        label="interacted",
        onehot={"user": USERS, "item": ITEMS},
        splits={name: SplitFile(file=f"{name}.parquet") for name in ("train", "valid")},
    )
    shown = np.arange(len(valid)) % 5 == 0
    return Dataset(
        spec,
        split(train, np.ones(len(train)), np.zeros(len(train), int)),
        split(valid, shown, np.repeat(range(USERS), 5)),
    )


def engine(dataset: Dataset, xla=False, precision="fp32", **changes) -> Engine:
    compute = {"fp32": "float32", "amp": "bfloat16"}[precision]
    configuration = Configuration("a", precision, compute, xla, 1, "cpu", "digest")
    training = Training(epochs=2, global_batch=64, evaluation_batch=30)
    return Engine(NeuMF(config(**changes), dataset), dataset, configuration, training, Communicator(1))


def examples_of(made: Engine, seed: int, step: int, which) -> np.ndarray:
    """User, item and label of some examples."""
    batch = made.local_batch_of(randomness.keys_of(seed), tf.constant(step, tf.int64), tf.constant(which, tf.int32))
    return np.stack([batch[name].numpy() for name in ("user", "item", "label")], axis=1).astype(int)


def test_logits_are_those_of_plain_numpy(interactions):
    network = NeuMF(config(), interactions)
    rng = np.random.default_rng(3)
    values = {p.name: rng.normal(size=p.shape).astype(np.float32) for p in network.parameters}
    batch = network.unpack(tf.constant(interactions.valid.words.view(np.float32)))
    found = network.logits(values, batch, tf.float32, None).numpy()
    for row, (user, item) in enumerate(interactions.valid.categorical):
        u, i = values["user"][user], values["item"][item]
        hidden = np.maximum(np.concatenate([u[4:], i[4:]]) @ values["kernel_0"] + values["bias_0"], 0)
        expected = np.concatenate([u[:4] * i[:4], hidden]) @ values["kernel_1"] + values["bias_1"]
        assert found[row] == pytest.approx(expected[0], rel=1e-4, abs=1e-5)


def test_the_published_network_has_its_published_shapes(interactions):
    network = NeuMF(config(factors=64, layers=[256, 256, 128, 64], dropout=0.5), interactions)
    shapes = {p.name: p.shape for p in network.parameters}
    assert shapes["user"] == (USERS, 64 + 128)
    assert [shapes[f"kernel_{layer}"] for layer in range(4)] == [(256, 256), (256, 128), (128, 64), (128, 1)]


@pytest.mark.parametrize("xla", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_negatives_are_never_known_items_and_even_over_the_others(interactions, xla):
    made = engine(interactions, xla, negatives=4)
    pairs = interactions.train.categorical
    known = {user: set(pairs[pairs[:, 0] == user, 1].tolist()) for user in range(USERS)}
    counts = np.zeros((USERS, ITEMS), int)
    for step in range(300):
        which = np.arange(64) * 5 % (5 * len(pairs)) + 1 + np.arange(64) % 4  # a negative of each of some rows
        for user, item, label in examples_of(made, 1, step, which):
            assert label == 0
            assert item not in known[user]
            counts[user, item] += 1
    assert counts[0, ITEMS - 1] == counts[0].sum() > 0  # the only item that user 0 leaves
    for user in range(1, USERS):
        drawn = np.delete(counts[user], list(known[user]))
        expected = drawn.sum() / len(drawn)
        assert ((drawn - expected) ** 2 / expected).sum() < 3 * len(drawn)  # chi-squared, far above its mean


def test_unverified_negatives_are_even_over_all_items(interactions):
    made = engine(interactions, verified=False)
    items = np.concatenate([examples_of(made, 1, step, DRAWN)[:, 1] for step in range(300)])
    counts = np.bincount(items, minlength=ITEMS)
    expected = len(items) / ITEMS
    assert len(counts) == ITEMS
    assert ((counts - expected) ** 2 / expected).sum() < 3 * ITEMS


def test_the_first_example_of_a_row_is_the_row(interactions):
    made = engine(interactions)
    rows = np.arange(20)
    found = examples_of(made, 1, 0, np.resize(rows, 64) * 4)[:20]
    assert (found[:, :2] == interactions.train.categorical[rows]).all()
    assert found[:, 2].all()


def test_draws_depend_on_seed_and_step_and_not_on_the_switches(interactions):
    plain, compiled = engine(interactions), engine(interactions, xla=True, precision="amp")
    which = DRAWN
    first = examples_of(plain, 1, 0, which)
    assert (examples_of(compiled, 1, 0, which) == first).all()
    assert (examples_of(plain, 1, 0, which) == first).all()
    assert (examples_of(plain, 2, 0, which) != first).any()
    assert (examples_of(plain, 1, 1, which) != first).any()


def test_two_ranks_draw_the_halves_of_the_batch(interactions):
    whole, half = engine(interactions), engine(interactions)
    which = DRAWN
    expected = examples_of(whole, 1, 3, which)
    half.local_batch = 32
    for rank in range(2):
        half.first_row = 32 * rank
        assert (
            examples_of(half, 1, 3, which[32 * rank : 32 * rank + 32]) == expected[32 * rank : 32 * rank + 32]
        ).all()


@pytest.mark.parametrize("precision", ["fp32", "amp"])
def test_a_seed_gives_the_same_bits_whatever_ran_before(interactions, precision):
    used = engine(interactions, precision=precision, layers=[8, 8], dropout=0.5)
    first, other, again = (used.train(seed) for seed in (1, 2, 1))
    assert first.weights_digest == again.weights_digest != other.weights_digest
    assert first.metrics == again.metrics
    assert set(first.metrics) == {"hr10", "ndcg10", "loss", "tied_share"}


def test_data_that_it_cannot_learn_from_are_refused(interactions, dataset):
    with pytest.raises(UserError, match="columns user and item"):
        NeuMF(config(), dataset)
    everything = split([(0, item) for item in range(ITEMS)], np.ones(ITEMS), np.zeros(ITEMS, int))
    with pytest.raises(UserError, match="user 0 interacted with every item"):
        NeuMF(config(), Dataset(interactions.spec, everything, interactions.valid))
    with pytest.raises(UserError, match="a training row is 0"):
        NeuMF(config(), Dataset(interactions.spec, interactions.valid, interactions.valid))
