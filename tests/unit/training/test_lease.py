"""Leases between processes: held once, named, and free when their holder is gone, however it went."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from seedstudy.errors import UserError
from seedstudy.training import gpus
from seedstudy.training.lease import Held, lease, seeds_leased

HOLD = """
import sys, time
from pathlib import Path
from seedstudy.training.lease import seeds_leased
with seeds_leased(Path(sys.argv[1]), [7]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lease of seed 7."""
    variables = os.environ | {"SLURM_JOB_ID": "4711"}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "digest")], env=variables, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_a_seed_is_not_trained_twice_at_once_and_the_line_names_the_holder(holder, tmp_path):
    with pytest.raises(UserError) as caught, seeds_leased(tmp_path / "digest", [6, 7]):
        pass
    line = str(caught.value)
    assert "seed 7: is being trained by process" in line
    assert f"process {holder.pid} on" in line
    assert "Slurm job 4711" in line
    assert "\n" not in line
    with seeds_leased(tmp_path / "digest", [6, 8]):  # 6 was given back
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_lease_ends_with_its_holder(holder, tmp_path, number):
    holder.send_signal(number)
    holder.wait()
    with seeds_leased(tmp_path / "digest", [7]):
        pass


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"), seeds_leased(tmp_path / "file" / "digest", [1]):
        pass


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of two A100 and a V100, as nvidia-smi would list them."""
    monkeypatch.setattr(gpus, "POLL_SECONDS", 0.02)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    listed = "GPU-a, NVIDIA A100-SXM4-80GB\nGPU-v, Tesla V100-SXM2-16GB\nGPU-b, NVIDIA A100-SXM4-80GB"
    tool.write_text(f"#!/bin/sh\ncat <<E\n{listed}\nE\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("machine")
def test_jobs_side_by_side_get_gpus_of_their_own():
    with gpus.gpu_slots(1, "A100") as first, gpus.gpu_slots(1, "A100") as second, gpus.gpu_slots(1, None) as third:
        assert (first, second, third) == ("GPU-a", "GPU-b", "GPU-v")
    with gpus.gpu_slots(2, "A100") as both:
        assert both == "GPU-a,GPU-b"


@pytest.mark.usefixtures("machine")
def test_a_job_waits_for_gpus_and_keeps_none_meanwhile(capfd):
    got = []

    def wait() -> None:
        with gpus.gpu_slots(2, "A100") as both:
            got.append(both)

    with gpus.gpu_slots(1, "A100"):
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        assert not got
    waiting.join(10)
    assert got == ["GPU-a,GPU-b"]
    assert capfd.readouterr().err == "seedstudy: waiting for 2 free GPU(s), 1 now\n"


@pytest.mark.usefixtures("machine")
def test_gpus_that_a_scheduler_gave_are_taken_as_they_are(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    with gpus.gpu_slots(2, None) as first, gpus.gpu_slots(2, None) as second:
        assert first == second == "3,5"


def test_a_lease_of_this_process_is_held_too(tmp_path):
    with lease(tmp_path / "x"), pytest.raises(Held), lease(tmp_path / "x"):
        pass


def test_a_lease_never_overwrites_what_a_link_points_to(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    (tmp_path / "7.lease").symlink_to(tmp_path / "thesis.tex")
    with pytest.raises(OSError, match="symbolic link"), lease(tmp_path / "7.lease"):
        pass
    assert (tmp_path / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize("made", ["file", "link", "open to all", "missing parent"])
def test_gpus_are_leased_in_a_folder_of_ones_own_only(tmp_path, monkeypatch, made):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    base = tmp_path / "none" if made == "missing parent" else tmp_path
    monkeypatch.setattr(gpus.tempfile, "gettempdir", lambda: str(base))
    folder = base / f"seedstudy-{os.getuid()}"
    if made == "file":
        folder.write_text("")
    elif made == "link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    elif made == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(UserError, match="set TMPDIR"), gpus.gpu_slots(1, None):
        pass
