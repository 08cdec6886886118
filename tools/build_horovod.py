"""Build Horovod for the TensorFlow that is installed, keep the wheel, and install it.

Horovod's last release predates TensorFlow 2.16: one of its sources includes XLA headers at paths that no longer
exist. That source only serves allreduce inside compiled clusters on GPUs, which this project never does, so it is
left out of the build. Another reserves room for the list of ranks where it must resize the list: with Gloo, Horovod
then finds no rank missing however long the others wait, and its stall check never ends them. The finished wheel is
kept under a key of everything it depends on; a wheel built for another TensorFlow would be refused by Horovod at
import.

Usage: python tools/build_horovod.py {cpu,gpu}
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = ROOT / "requirements" / "horovod.txt"
LOG = ROOT / "build" / "horovod.log"
MENDS = (
    # File, text that stands there once, and what takes its place.
    ("horovod/tensorflow/CMakeLists.txt", ' "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc"', ""),
    ("horovod/common/gloo/gloo_controller.cc", "global_ranks_.reserve(size_)", "global_ranks_.resize(size_)"),
)
PROGRESS = re.compile(r"\[\s*(\d+)%\]")


def cached_wheels(device: str, tensorflow: str) -> Path:
    """Folder of the wheel for this device, TensorFlow, Python, C library and build recipe."""
    recipe = hashlib.sha256(REQUIREMENT.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:12]
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    libc = "".join(platform.libc_ver())
    base = os.environ.get("SEEDSTUDY_CACHE") or Path.home() / ".cache" / "seedstudy"
    return Path(base) / "wheels" / f"{device}-tf{tensorflow}-{python}-{libc}-{platform.machine()}-{recipe}"


def build_environment(device: str) -> dict[str, str]:
    """Environment of the build: framework, transport, and headers off the compiler's default path."""
    package = importlib.metadata.distribution("tensorflow-cpu" if device == "cpu" else "tensorflow")
    include = Path(str(package.locate_file("tensorflow"))) / "include" / "external"
    headers = [include / "highwayhash", include / "farmhash_archive" / "src"]
    chosen = {
        "HOROVOD_WITH_TENSORFLOW": "1",
        "HOROVOD_WITHOUT_PYTORCH": "1",
        "HOROVOD_WITHOUT_MXNET": "1",
        "HOROVOD_WITHOUT_MPI": "1",
        "HOROVOD_WITH_GLOO": "1",
        "CPLUS_INCLUDE_PATH": os.pathsep.join(map(str, headers)),
        "MAKEFLAGS": f"-j{len(os.sched_getaffinity(0))}",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    if device == "cpu":
        chosen["HOROVOD_CPU_OPERATIONS"] = "GLOO"
    else:
        chosen["HOROVOD_GPU_OPERATIONS"] = "NCCL"
    return {**os.environ, **chosen}


def run_with_progress(command: list[str], environment: dict[str, str], cwd: Path) -> None:
    """Run a build, show the compiler's percentage, keep the whole output in the log."""
    LOG.parent.mkdir(exist_ok=True)
    began = time.monotonic()
    with LOG.open("w") as log:
        build = subprocess.Popen(
            command, env=environment, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert build.stdout is not None
        shown = -10
        for line in build.stdout:
            log.write(line)
            found = PROGRESS.search(line)
            if found and int(found[1]) >= shown + 10:
                shown = int(found[1])
                print(f"horovod: {shown:3d} % after {time.monotonic() - began:.0f} s", flush=True)
    if build.wait() != 0:
        sys.exit(f"horovod: the build failed; its output is in {LOG.relative_to(ROOT)}")


def build(device: str, wheels: Path) -> None:
    """Download the source with its hash, mend it, build the wheel into `wheels`."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        download = ["download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
        subprocess.run([*pip, *download, "-r", str(REQUIREMENT), "-d", folder], check=True)
        (archive,) = work.glob("horovod-*.tar.gz")
        with tarfile.open(archive) as source:
            source.extractall(work, filter="data")
        (tree,) = (path for path in work.iterdir() if path.is_dir())
        for name, old, new in MENDS:
            text = (tree / name).read_text()
            if text.count(old) != 1:
                sys.exit(f"horovod: {name} does not hold {old.strip()} once; the build recipe must be revised")
            (tree / name).write_text(text.replace(old, new))
        wheel = [sys.executable, "-m", "pip", "wheel", "-v", "--no-build-isolation", "--no-deps", "--no-cache-dir"]
        run_with_progress([*wheel, "-w", str(work / "out"), "."], build_environment(device), tree)
        (built,) = (work / "out").glob("horovod-*.whl")
        # Published under its final name only when whole: a killed set-up leaves nothing that looks finished.
        partial = wheels.with_name(f"{wheels.name}.{os.getpid()}")
        partial.mkdir(parents=True)
        shutil.copy2(built, partial)
        if wheels.exists():
            shutil.rmtree(wheels)
        partial.rename(wheels)


def main(arguments: list[str]) -> None:
    """Install Horovod for one device, from the kept wheel when there is one."""
    if arguments not in (["cpu"], ["gpu"]):
        sys.exit(__doc__)
    (device,) = arguments
    tensorflow = importlib.metadata.version("tensorflow-cpu" if device == "cpu" else "tensorflow")
    wheels = cached_wheels(device, tensorflow)
    if not any(wheels.glob("horovod-*.whl")):
        if shutil.which(os.environ.get("CXX", "g++")) is None:
            sys.exit("horovod: no C++ compiler (g++); install one, on Debian or Ubuntu: apt-get install g++")
        print(f"horovod: building for TensorFlow {tensorflow} ({device}), about 3 minutes on 2 cores", flush=True)
        build(device, wheels)
    (wheel,) = wheels.glob("horovod-*.whl")
    install = ["install", "-q", "--no-deps", "--no-cache-dir", "--force-reinstall", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    print(f"horovod: installed from {wheel}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
