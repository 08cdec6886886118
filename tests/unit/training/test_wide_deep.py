"""The network against a NumPy oracle, and its learning rates against the published schedule."""

import numpy as np
import pytest
import tensorflow as tf

from seedstudy.models.wide_deep import DeepOptimizer, Settings
from seedstudy.models.wide_deep.network import WideDeep, deep_rates


def config(**changes):
    fields = {
        "name": "wide_deep",
        "hidden": [8],
        "dropout": 0.0,
        "embedding_widths": {"default": 3, "exceptions": {"d": 2}},
        "deep": {"learning_rate": 0.01, "rho": 0.9, "warmup_epochs": 1},
        "wide": {"learning_rate": 0.02},
    }
    return Settings.model_validate(fields | changes)


def test_logits_are_those_of_a_plain_loop_over_features(dataset):
    network = WideDeep(config(), dataset.spec)
    rng = np.random.default_rng(3)
    values = {p.name: rng.normal(size=p.shape).astype(np.float32) for p in network.parameters}
    batch = network.unpack(tf.constant(dataset.train.words[:20].view(np.float32)))
    categorical = dataset.train.categorical
    found = network.logits(values, batch, tf.float32, None).numpy()

    # c (5 rows) and e (4 rows, 2 ids) have width 3 and share a table; d (7 rows) has width 2. The wide vector holds
    # the tables one after the other.
    three, two = values["deep/embedding_3"], values["deep/embedding_2"]
    wide = values["wide/categorical"]
    for row in range(20):
        numeric, (c, d, e0, e1) = dataset.train.numeric[row], categorical[row]
        inputs = np.concatenate([numeric, three[c], (three[5 + e0] + three[5 + e1]) / 2, two[d]])
        hidden = np.maximum(inputs @ values["deep/kernel_0"] + values["deep/bias_0"], 0)
        logit = (hidden @ values["deep/kernel_1"] + values["deep/bias_1"])[0]
        logit += numeric @ values["wide/numeric"] + wide[c] + wide[9 + d] + (wide[5 + e0] + wide[5 + e1]) / 2
        assert found[row] == pytest.approx(logit, rel=1e-4, abs=1e-5)


def test_words_are_taken_apart_into_the_numbers_rows_and_label_of_the_split(dataset):
    network, train = WideDeep(config(), dataset.spec), dataset.train
    batch = network.unpack(tf.constant(train.words.view(np.float32)))
    assert set(batch) == {"numeric", "rows", "label"}
    assert (np.asarray(batch["numeric"]) == train.numeric).all()
    assert (np.asarray(batch["label"]) == train.label).all()
    c, d, e0, e1 = train.categorical.T
    assert (np.asarray(batch["rows"]) == np.stack([c, 5 + e0, 5 + e1, 9 + d], axis=1)).all()


def test_the_published_network_has_its_published_size(dataset):
    # 13 numeric, 4 embeddings of 128, 1 of 19, the other 11 of 64: 1,235 inputs; five layers of 1,024.
    widths = 13 + 4 * 128 + 19 + 11 * 64
    assert widths == 1248  # 13 + 1,235: the reference counts embeddings alone
    network = WideDeep(config(hidden=[1024] * 5), dataset.spec)
    kernels = [p.shape for p in network.parameters if "kernel" in p.name]
    assert kernels[1:] == [(1024, 1024)] * 4 + [(1024, 1)]


def test_logits_are_float32_in_every_precision(dataset):
    network = WideDeep(config(), dataset.spec)
    values = {p.name: tf.ones(p.shape) for p in network.parameters}
    for compute in (tf.float32, tf.bfloat16, tf.float16):
        assert (
            network.logits(
                values, network.unpack(tf.constant(dataset.valid.words.view(np.float32))), compute, None
            ).dtype
            == tf.float32
        )


def test_learning_rates_follow_the_published_schedule():
    # 20 epochs, warm-up 6: linear to the rate, a quarter from epoch 6, an eighth from epoch 13.
    deep = DeepOptimizer(learning_rate=0.00012, rho=0.5, warmup_epochs=6)
    rates = deep_rates(deep, 20, 457)
    assert len(rates) == 9_140
    assert rates[0] == pytest.approx(0.00012 / (6 * 457))
    assert rates[6 * 457 - 1] == pytest.approx(0.00012)
    assert rates[[6 * 457, 13 * 457 - 1]] == pytest.approx([0.00003] * 2)
    assert rates[[13 * 457, 9_139]] == pytest.approx([0.000015] * 2)


def test_without_warm_up_the_schedule_starts_at_a_quarter():
    rates = deep_rates(DeepOptimizer(learning_rate=1.0, rho=0.5, warmup_epochs=0), 2, 2)
    assert rates.tolist() == [0.25, 0.25, 0.125, 0.125]
