"""A real Slurm on this host, for the tests: its own munge, a controller and some nodes with GPUs that are none.

Everything lives in one private folder, and only processes that were started here are stopped.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .conftest import BIN

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
CONF = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=5
MinJobAge=3600
SchedulerParameters=bf_interval=1,sched_interval=2
SlurmdParameters=config_overrides
DefMemPerCPU=500
{nodes}
PartitionName=cpu Nodes=cpu[1-2] Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=gpu1 MaxTime=INFINITE State=UP
"""
CPU_NODE = "CPUs=2 RealMemory=9000"
NODES = {"cpu1": CPU_NODE, "cpu2": CPU_NODE, "gpu1": "CPUs=8 RealMemory=9000 Gres=gpu:8"}


def missing() -> str | None:
    """What this machine lacks for a Slurm, or None."""
    if os.getuid() != 0:
        return "a Slurm of its own is started by root alone"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"no {', '.join(lacking)} here; Debian has them in slurm-wlm and munge" if lacking else None


@dataclass
class Cluster:
    """A running Slurm.

    Attributes
    ----------
    folder : Path
        All its files.
    variables : dict of str to str
        For commands that are to find it.
    daemons : dict of str to Popen
        By name: munged, slurmctld, and each node's slurmd.
    """

    folder: Path
    variables: dict[str, str]
    daemons: dict[str, subprocess.Popen[bytes]]

    def start(self, name: str) -> None:
        """Start a daemon in the foreground, as a child of the tests."""
        node = ["slurmd", "-D", "-N", name]
        command = {"munged": self._munged(), "slurmctld": ["slurmctld", "-D"]}.get(name, node)
        log = (self.folder / "log" / f"{name}.out").open("ab")
        variables = os.environ | self.variables
        self.daemons[name] = subprocess.Popen(command, env=variables, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self, name: str) -> None:
        """Stop a daemon."""
        daemon = self.daemons.pop(name)
        daemon.terminate()
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def run(self, *command: str) -> str:
        """Output of one of Slurm's commands."""
        variables = os.environ | self.variables
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=60).stdout

    def wait_until_idle(self) -> None:
        """Return when all nodes are idle."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                states = self.run("sinfo", "--noheader", "--Node", "--format=%T").split()
            except subprocess.CalledProcessError:
                states = []
            if len(states) == len(NODES) and set(states) == {"idle"}:
                return
            time.sleep(0.2)
        logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in (self.folder / "log").iterdir())
        raise RuntimeError(f"Slurm did not come up:\n{logs}")

    def wait_for_controller(self) -> None:
        """Return when the controller answers."""
        deadline = time.monotonic() + 30
        while "is UP" not in self._ping():
            if time.monotonic() > deadline:
                raise RuntimeError("slurmctld did not come up")
            time.sleep(0.2)

    def _ping(self) -> str:
        variables = os.environ | self.variables
        return subprocess.run(["scontrol", "ping"], env=variables, capture_output=True, text=True, timeout=60).stdout

    def _munged(self) -> list[str]:
        folder = self.folder
        places = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "run/munged.pid"}
        places |= {"log-file": "log/munged.log", "seed-file": "munge.seed"}
        return ["munged", "--foreground", "--force", *(f"--{key}={folder / name}" for key, name in places.items())]


@contextmanager
def slurm(folder: Path) -> Iterator[Cluster]:
    """A Slurm in a new folder, for the length of a block."""
    for name in ("state", "spool", "log", "run", "dev"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    for number in range(8):
        os.mknod(folder / "dev" / f"gpu{number}", 0o600 | 0o020000, os.makedev(1, 3))
    host = socket.gethostname().split(".")[0]
    ports = _free_ports(len(NODES) + 1)
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {what} State=UNKNOWN"
        for (name, what), port in zip(NODES.items(), ports[1:], strict=True)
    )
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, port=ports[0], folder=folder, nodes=nodes))
    (folder / "gres.conf").write_text(f"NodeName=gpu1 Name=gpu File={folder}/dev/gpu[0-7]\n")
    # Within a job Snakemake drops SLURM_CONF before it calls srun, which then looks in /etc.
    (folder / "bin").mkdir()
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={conf} exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)
    nvidia_smi = folder / "bin" / "nvidia-smi"
    nvidia_smi.write_text("#!/bin/sh\nfor number in 0 1 2 3 4 5 6 7; do echo GPU-$number, A100; done\n")
    nvidia_smi.chmod(0o755)
    path = os.pathsep.join([str(BIN), str(srun.parent), os.environ["PATH"]])
    cluster = Cluster(folder, {"SLURM_CONF": str(conf), "PATH": path}, {})
    try:
        cluster.start("munged")
        _wait_for(folder / "munge.socket")
        for name in ("slurmctld", *NODES):
            cluster.start(name)
        cluster.wait_until_idle()
        yield cluster
    finally:
        for name in reversed(list(cluster.daemons)):
            cluster.stop(name)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{path} did not appear")
        time.sleep(0.1)
