"""What each rank runs: `python -m seedstudy.training.rank`, with its job on standard input."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seedstudy.errors import UserError
from seedstudy.runs import Ledger
from seedstudy.study import Configuration, Plan
from seedstudy.training.affinity import bound, cores_of_rank
from seedstudy.training.job import Job, Task, provenance, record
from seedstudy.training.launch import LEFT_ALONE
from seedstudy.training.places import take_place

if TYPE_CHECKING:
    from seedstudy.data.loading import Dataset
    from seedstudy.models.network import Network
    from seedstudy.training.communication import Communicator
    from seedstudy.training.engine import Engine

AnyTask = TypeVar("AnyTask", bound=Task)
# What an exchange fails with for want of another rank: Horovod's SHUT_DOWN_ERROR, or where Gloo gave up in the middle.
NO_ANSWER = ("Horovod has been shut down", "/gloo/transport/")
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Train the seeds of a job, and keep each record as soon as its seed is done."""
    serve(Job, _train)


def serve(kind: type[AnyTask], work: Callable[[AnyTask], None]) -> None:
    """Do what standard input says, for as long as the launcher lives; on standard output it hears of bad input."""
    _die_with_launcher()
    # What others print must not look like it.
    launcher = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    task = kind.model_validate_json(sys.stdin.read())
    if task.places:
        take_place(task.places)
    try:
        work(task)
    except UserError as error:
        os.write(launcher, f"{json.dumps([str(part) for part in error.args])}\n".encode())
        while True:  # Until the launcher ends all ranks: Horovod would tell the others of an end before.
            signal.pause()
    except Exception as error:
        if not any(sign in str(error) for sign in NO_ANSWER):
            raise
        # The launcher sees which rank is at fault; at once, since Horovod would wait for it once more.
        print(f"seedstudy: rank {os.environ['HOROVOD_RANK']} waited for another in vain", file=sys.stderr, flush=True)
        os._exit(LEFT_ALONE)


def set_up(plan: Plan, configuration: Configuration, data: Path) -> tuple[Network, Dataset, Communicator]:
    """Set this rank up as the configuration asks, and bind the model to the prepared data."""
    architecture = plan.architectures[configuration.architecture]
    place = int(os.environ.get("HOROVOD_LOCAL_RANK", "0"))
    everywhere = os.sched_getaffinity(0)
    if plan.affinity != "none":
        here = int(os.environ.get("HOROVOD_LOCAL_SIZE", "1"))
        os.sched_setaffinity(0, cores_of_rank(place, here, plan.threads_per_worker))

    # Slow to load, and only now wanted: the environment is set, the job is known to be sound.
    with _quickly():
        with _unheard():
            import keras  # noqa: F401 - of the models; TensorFlow comes with it
        from seedstudy.data.loading import load
        from seedstudy.training.communication import Communicator
        from seedstudy.training.inforce import prepare

    prepare(configuration, architecture, plan.threads_per_worker, place)
    # Horovod starts its threads here: they, not those of TensorFlow, may then run where a core is idle.
    with bound(everywhere) if plan.affinity == "training" else nullcontext():
        ranks = Communicator(configuration.workers, plan.training.gradient_compression)
    dataset = load(data)
    return plan.model.network(dataset), dataset, ranks


def build_engine(plan: Plan, configuration: Configuration, data: Path) -> tuple[Engine, Dataset]:
    """Set this rank up, to train as the plan says."""
    network, dataset, ranks = set_up(plan, configuration, data)
    from seedstudy.training.engine import Engine

    return Engine(network, dataset, configuration, plan.training, ranks), dataset


def _train(job: Job) -> None:
    began = time.perf_counter()
    plan, configuration = job.resolve()
    origin = provenance(job.commit)  # Before the rank is bound to a part of the cores.
    engine, dataset = build_engine(plan, configuration, job.data)
    from seedstudy.training.checkpoint import Checkpoint
    from seedstudy.training.inforce import verify

    ledger = Ledger(job.ledger, configuration.run_digest)
    known = origin | {"data_sha256": dataset.content_sha256()}
    start_seconds = time.perf_counter() - began
    in_force: dict[str, Any] = {}
    for number, seed in enumerate(job.seeds, start=1):
        began = time.perf_counter()
        kept = Checkpoint(ledger.checkpoint(seed), f"{configuration.run_digest}/{seed}") if plan.checkpoints else None
        outcome = engine.train(seed, checkpoint=kept)
        if not outcome.diverged and plan.floor is not None and outcome.metrics[plan.metric] < plan.floor:
            outcome.diverged = f"{plan.metric} {outcome.metrics[plan.metric]:.6g} is below the floor {plan.floor:g}"
        in_force = in_force or verify(engine, configuration, plan.architectures[configuration.architecture])
        if engine.ranks.rank != 0:
            continue
        rows = len(outcome.curve) * engine.steps_per_epoch * plan.training.global_batch
        finished = record(
            plan,
            configuration,
            seed,
            "diverged" if outcome.diverged else "ok",
            known
            | {"in_force": in_force, "start_seconds": start_seconds, "skipped_steps": outcome.skipped_steps}
            | ({"resumed_epochs": outcome.resumed_epochs} if outcome.resumed_epochs else {}),
            cause=outcome.diverged,
            curve=tuple(outcome.curve),
            metrics=outcome.metrics,
            steps_per_epoch=engine.steps_per_epoch,
            train_seconds=outcome.train_seconds,
            evaluation_seconds=outcome.evaluation_seconds,
            samples_per_second=rows / outcome.train_seconds,
            weights_digest=outcome.weights_digest,
        )
        ledger.write(finished)
        if kept is not None:
            kept.remove()
        shown = outcome.diverged or f"{plan.metric} {outcome.metrics[plan.metric]:.6f}"
        seconds = time.perf_counter() - began
        print(
            f"{configuration.id} seed {seed} ({number} of {len(job.seeds)}): {shown}, {seconds:.1f} s", file=sys.stderr
        )


@contextmanager
def _quickly() -> Iterator[None]:
    """Import TensorFlow without what doubles its time: see docs/performance.md.

    Keras loads Matplotlib and pandas wherever it finds them, for functions that no training calls; and Python looks
    through all that was loaded for garbage, again and again.
    """
    hidden = [name for name in ("matplotlib", "pandas") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: importing it fails, as if it were absent
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        for name in hidden:
            del sys.modules[name]


@contextmanager
def _unheard() -> Iterator[None]:
    """Keep what native code writes to standard error to itself: TensorFlow announces oneDNN at every log level."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _die_with_launcher() -> None:
    """Ask the kernel to end this rank when its launcher is gone, even by SIGKILL: none trains on unwatched."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent == 1 or os.getppid() != parent:
        sys.exit("seedstudy: the launcher is gone")


if __name__ == "__main__":
    main()
