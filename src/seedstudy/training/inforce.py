"""Setting a rank up as its configuration asks, and checking that what was asked for is in force.

A switch that silently does nothing makes a study of noise. Each is therefore shown by what it does (an operation that
only compiled code can run, a product that rounds once or twice), not by the flag that asked for it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import config as framework_config

from seedstudy.architecture import INSTRUCTION_SETS, Architecture, ComputeType
from seedstudy.errors import UserError
from seedstudy.study import Configuration
from seedstudy.training.engine import Engine

PRODUCTS = ("MatMul", "_MklMatMul", "_FusedMatMul")


class NotInForce(Exception):
    """A switch was asked for and did not take effect; the run is not what its configuration says."""


def prepare(configuration: Configuration, architecture: Architecture, threads: int, local_rank: int) -> None:
    """Set device, threads, determinism and TF32, before TensorFlow starts its runtime.

    Raises
    ------
    UserError
        The architecture is a GPU and this rank finds none for itself.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if architecture.device == "gpu":
        if local_rank >= len(gpus):
            given = os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
            found = f"finds {len(gpus)} GPU(s), CUDA_VISIBLE_DEVICES is {given}"
            problem = f"rank {local_rank} of this machine {found}; one GPU for each rank is needed"
            raise UserError(f"architectures.{configuration.architecture}", problem)
        tf.config.set_visible_devices(gpus[local_rank], "GPU")
        tf.config.experimental.set_memory_growth(gpus[local_rank], True)
    else:
        tf.config.set_visible_devices([], "GPU")
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_op_determinism()
    tf.config.experimental.enable_tensor_float_32_execution(configuration.compute_type == "tensorfloat32")


def verify(engine: Engine, configuration: Configuration, architecture: Architecture) -> dict[str, Any]:
    """Check a trained engine against its configuration.

    Parameters
    ----------
    engine : Engine
        After at least one epoch: its graphs are looked at.
    configuration : Configuration
        What was asked for.
    architecture : Architecture
        Device and instruction set.

    Returns
    -------
    dict
        What was found, for the record.

    Raises
    ------
    NotInForce
        Names the first switch that is not in force.
    """
    found: dict[str, Any] = {
        "world_size": engine.ranks.size,
        "exchange": engine.ranks.backend(),
        "determinism": framework_config.is_op_determinism_enabled(),
        "xla": _compiled(engine),
        "product_types": sorted(_product_types(engine)),
        "tensor_float_32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "instruction_set": architecture.instruction_set,
        "device": _device(),
    }
    _require("world size", found["world_size"], configuration.workers)
    _require("determinism", found["determinism"], True)
    _require("XLA", found["xla"], configuration.xla)
    _require("types of products", found["product_types"], sorted(_expected_types(configuration.compute_type)))
    _require("TF32", found["tensor_float_32"], configuration.compute_type == "tensorfloat32")
    if architecture.instruction_set is not None:
        fused = INSTRUCTION_SETS[architecture.instruction_set].fused
        _require("instruction set of uncompiled products", _rounds_once(compiled=False), fused)
        _require("instruction set of compiled code", _rounds_once(compiled=True), fused)
    if architecture.gpu_name is not None and architecture.gpu_name not in found["device"]:
        raise NotInForce(f"device is {found['device']}, the plan asks for {architecture.gpu_name}")
    return found


def _require(switch: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise NotInForce(f"{switch}: {found} is in force, {wanted} was asked for")


def _graph(function: Any) -> Any:
    # TensorFlow has no public way to list what a function traced.
    (traced,) = function._list_all_concrete_functions()
    return traced


def _compiled(engine: Engine) -> bool:
    """Whether gradients, updates and scores all ran through XLA.

    With XLA asked for, they hold an operation that has no other implementation, so having run is the proof; without,
    neither they nor the graph around them may be marked for compilation.
    """
    marks = set()
    for function in (engine.gradients, engine.update, engine.score):
        attributes = _graph(function).function_def.attr
        marks.add("_XlaMustCompile" in attributes and attributes["_XlaMustCompile"].b)
    if tf.config.optimizer.get_jit():
        raise NotInForce("XLA: automatic clustering is on, which no configuration asks for")
    if len(marks) > 1:
        raise NotInForce("XLA: only a part of the training step is compiled")
    return marks.pop()


def _product_types(engine: Engine) -> set[str]:
    """Types of the matrix products in the gradient graph."""
    operations = _graph(engine.gradients).graph.get_operations()
    return {operation.outputs[0].dtype.name for operation in operations if operation.type in PRODUCTS}


def _expected_types(compute_type: ComputeType) -> set[str]:
    # The head stays in float32 under AMP.
    return {"float32"} | ({compute_type} if compute_type in ("bfloat16", "float16") else set())


def _rounds_once(compiled: bool) -> bool:
    """Whether a * b - c is rounded once (fused multiply-add, AVX2 and up) or twice.

    With c the rounded product, two roundings leave 0 and one leaves what the first would have dropped.
    """
    factor = np.float32(1 + 2**-12)
    product = np.float32(factor * factor)
    if compiled:
        ones = np.ones(64, np.float32)
        fused = tf.function(lambda a, b, c: a * b - c, jit_compile=True, autograph=False)
        return bool((fused(factor * ones, factor * ones, product * ones).numpy() != 0).all())
    left, right = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    left[:, 0], right[0, :] = -1, product
    left[:, 1], right[1, :] = factor, factor
    return bool((tf.linalg.matmul(left, right).numpy() != 0).all())


def _device() -> str:
    gpus = tf.config.get_visible_devices("GPU")
    if not gpus:
        return "CPU"
    return str(tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU"))
