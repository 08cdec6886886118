"""Types of the products, and dynamic loss scaling for float16."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from seedstudy.architecture import ComputeType
from seedstudy.study import LossScale

GROWTH = 2.0


def compute_dtype(compute_type: ComputeType) -> tf.DType:
    """Type of activations and products; TF32 rounds float32 products inside the device."""
    return {"bfloat16": tf.bfloat16, "float16": tf.float16}.get(compute_type, tf.float32)


class Scaler:
    """Loss scaling (Micikevicius et al., "Mixed Precision Training", ICLR 2018).

    The loss is multiplied by a power of two, gradients are divided by it after they were averaged over ranks; a step
    whose averaged gradients are not all finite is left out and halves the scale, `growth_steps` good ones double it.
    Since every rank sees the same averages, every rank keeps the same scale. Types with the exponents of float32 need
    none of this: there the scale is 1 and every step is taken.

    Parameters
    ----------
    active : bool
        Whether the compute type is float16.
    settings : LossScale
        Initial scale and growth.
    """

    def __init__(self, active: bool, settings: LossScale) -> None:
        self.active = active
        self._settings = settings
        self.scale = tf.Variable(settings.initial if active else 1.0, trainable=False, dtype=tf.float32)
        self.good = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.skipped = tf.Variable(0, trainable=False, dtype=tf.int64)

    def reset(self) -> None:
        """Back to the initial scale, for the next seed."""
        self.scale.assign(self._settings.initial if self.active else 1.0)
        self.good.assign(0)
        self.skipped.assign(0)

    def scaled(self, loss: Any) -> Any:
        """Loss to differentiate."""
        return loss * self.scale if self.active else loss

    def step(self, gradients: dict[str, list[Any]], update: Any) -> None:
        """Unscale averaged gradients and call `update` with them, unless one is not finite."""
        if not self.active:
            update(gradients)
            return
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(part)) for part in tf.nest.flatten(gradients)])

        def take() -> tf.Tensor:
            update(tf.nest.map_structure(lambda part: part / self.scale, gradients))
            grow = self.good + 1 >= self._settings.growth_steps
            self.scale.assign(tf.where(grow, self.scale * GROWTH, self.scale))
            self.good.assign(tf.where(grow, tf.constant(0, tf.int64), self.good + 1))
            return tf.constant(True)

        def leave_out() -> tf.Tensor:
            self.scale.assign(tf.maximum(self.scale / GROWTH, 1.0))
            self.good.assign(0)
            self.skipped.assign_add(1)
            return tf.constant(False)

        tf.cond(finite, take, leave_out)
