"""Starts the ranks of a job, watches them, and ends all when one dies. Free of TensorFlow.

Ranks find each other through Horovod's own rendezvous server, so neither ssh nor MPI is needed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from seedstudy.errors import UserError
from seedstudy.training.gpus import gpu_slots
from seedstudy.training.job import Task, environment

POLL_SECONDS = 0.05
GRACE_SECONDS = 5.0


class RankDied(Exception):
    """A rank ended before its work was done."""

    def __init__(self, rank: int, code: int) -> None:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        super().__init__(f"rank {rank} ended with {how}")


def launch(job: Task, module: str = "seedstudy.training.rank") -> None:
    """Run a job on its ranks, each a process of its own with the switches of the configuration.

    Parameters
    ----------
    job : Job
        Handed to each rank on standard input.
    module : str
        What each rank runs.

    Raises
    ------
    UserError
        What a rank said first of its input, or of where it writes; trying again cannot help. All ranks were ended.
    RankDied
        The first rank that ended with an error; the others were ended with it.
    """
    plan, configuration = job.resolve()
    base = environment(plan, configuration)
    with ExitStack() as stack:
        if configuration.device == "gpu":
            name = plan.architectures[configuration.architecture].gpu_name
            base["CUDA_VISIBLE_DEVICES"] = stack.enter_context(gpu_slots(configuration.workers, name))
        places = stack.enter_context(_rendezvous(configuration.workers))
        said, say = os.pipe()
        stack.callback(os.close, said)
        stack.callback(os.close, say)
        ranks = [_start(module, {**base, **place}, job, say) for place in places]
        with _ended_with_us(ranks):
            _wait(ranks, said)


def _start(module: str, variables: dict[str, str], job: Task, say: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module]
    rank = subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=say, text=True)
    assert rank.stdin is not None
    try:
        rank.stdin.write(job.model_dump_json())
        rank.stdin.close()
    except BrokenPipeError:
        pass  # It died at once; waiting for it tells how.
    return rank


def _wait(ranks: list[subprocess.Popen[str]], said: int) -> None:
    running = dict(enumerate(ranks))
    while running:
        # One that says something waits to be ended, so that its end disturbs no other rank.
        if select.select([said], [], [], POLL_SECONDS)[0]:
            raise UserError(*json.loads(os.read(said, 1 << 16).splitlines()[0]))
        for number, rank in list(running.items()):
            code = rank.poll()
            if code is None:
                continue
            if code != 0:
                raise RankDied(number, code)
            del running[number]


@contextmanager
def _ended_with_us(ranks: list[subprocess.Popen[str]]) -> Iterator[None]:
    """End all ranks when this block ends, however it ends; a request to stop reaches them too."""

    def stop(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for rank in ranks:
            if rank.poll() is None:
                rank.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for rank in ranks:
            try:
                rank.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()


@contextmanager
def _rendezvous(world_size: int) -> Iterator[list[dict[str, str]]]:
    """Horovod's variables for each rank on this machine; none for a single one."""
    if world_size == 1:
        yield [{}]
        return
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.http.http_server import RendezvousServer

    server = RendezvousServer(verbose=0)
    port = server.start()
    try:
        slots = get_host_assignments(parse_hosts(f"localhost:{world_size}"), world_size)
        server.init(slots)
        shared = {
            "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
            "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
            "HOROVOD_CONTROLLER": "gloo",
            "HOROVOD_CPU_OPERATIONS": "gloo",
            "HOROVOD_GLOO_IFACE": "lo",
            "HOROVOD_CYCLE_TIME": "1",
            # Without its cache of names Horovod agrees sooner on the one tensor of a step: measured on 2 cores, where
            # its threads wait for the cores that train, runs took a third less time.
            "HOROVOD_CACHE_CAPACITY": "0",
        }
        yield [
            {
                **shared,
                "HOROVOD_HOSTNAME": slot.hostname,
                "HOROVOD_RANK": str(slot.rank),
                "HOROVOD_SIZE": str(slot.size),
                "HOROVOD_LOCAL_RANK": str(slot.local_rank),
                "HOROVOD_LOCAL_SIZE": str(slot.local_size),
                "HOROVOD_CROSS_RANK": str(slot.cross_rank),
                "HOROVOD_CROSS_SIZE": str(slot.cross_size),
            }
            for slot in slots
        ]
    finally:
        server.stop()
