"""Where the ranks of a job run, and how they find each other: through Horovod's own rendezvous server.

Neither ssh nor MPI is needed: ranks are processes of this machine, or tasks of one srun over the nodes of a Slurm job.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def rendezvous(nodes: int, ranks_on_node: int, timeout: int) -> Iterator[list[dict[str, str]]]:
    """Serve the ranks of a job for the length of a block.

    Parameters
    ----------
    nodes, ranks_on_node : int
        How many nodes, and ranks on each, ranks counted node by node.
    timeout : int
        Seconds after which a rank gives up waiting for another.

    Yields
    ------
    list of dict of str to str
        Horovod's variables for each rank; none for a single one.
    """
    if nodes * ranks_on_node == 1:
        yield [{}]
        return
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.http.http_server import RendezvousServer

    # The names only tell Horovod which ranks share a node.
    hosts = ",".join(f"node{number}:{ranks_on_node}" for number in range(nodes))
    slots = get_host_assignments(parse_hosts(hosts), nodes * ranks_on_node)
    server = RendezvousServer(verbose=0)
    port = server.start()
    try:
        server.init(slots)
        shared = {
            "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
            "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
            "HOROVOD_CONTROLLER": "gloo",
            "HOROVOD_CPU_OPERATIONS": "gloo",
            "HOROVOD_GLOO_IFACE": "lo",
            "HOROVOD_CYCLE_TIME": "1",
            # The first notices a rank that is gone or stands still, the others one that computes something else.
            "HOROVOD_GLOO_TIMEOUT_SECONDS": str(timeout),
            "HOROVOD_STALL_CHECK_TIME_SECONDS": str(max(1, timeout // 2)),
            "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": str(timeout),
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


def srun(nodes: int, ranks_on_node: int, threads: int) -> list[str]:
    """Start of a command that runs it once a rank over the nodes of this Slurm job.

    Parameters
    ----------
    nodes, ranks_on_node, threads : int
        Nodes, ranks on each, threads of each.

    Returns
    -------
    list of str
    """
    return [
        "srun",
        f"--nodes={nodes}",
        f"--ntasks={nodes * ranks_on_node}",
        f"--ntasks-per-node={ranks_on_node}",
        f"--cpus-per-task={threads}",
        "--distribution=block",  # Task number and rank are the same.
        "--cpu-bind=none",  # Ranks bind themselves, as the plan says.
        "--kill-on-bad-exit=1",
        "--overlap",
    ]


def take_place(places: Sequence[dict[str, str]]) -> None:
    """Set the variables of the rank that this task of srun is, with the way to its launcher.

    Parameters
    ----------
    places : sequence of dict of str to str
        As `rendezvous` gives them.
    """
    launcher = os.environ["SLURM_LAUNCH_NODE_IPADDR"]
    os.environ |= places[int(os.environ["SLURM_PROCID"])]
    os.environ |= {"HOROVOD_GLOO_RENDEZVOUS_ADDR": launcher, "HOROVOD_GLOO_IFACE": interface_towards(launcher)}


def interface_towards(address: str) -> str:
    """Network interface by which this machine reaches an address; a node may have several.

    Parameters
    ----------
    address : str
        IPv4 address.

    Returns
    -------
    str
        Its name.

    Raises
    ------
    OSError
        There is no way to it.
    """
    import psutil

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # Nothing is sent: it only chooses the way.
        own = probe.getsockname()[0]
    for name, addresses in psutil.net_if_addrs().items():
        if any(found.address == own for found in addresses):
            return str(name)
    raise OSError(f"no interface has the address {own}")
