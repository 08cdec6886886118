"""A disk that is full, a folder that is read-only, a clock set back, files removed while a study runs."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import pandas as pd
import pytest

from seedstudy import cli
from seedstudy.errors import UserError
from seedstudy.runs import Ledger
from seedstudy.study import load_plan
from seedstudy.training import launch
from seedstudy.training.batch import train_seeds

from .conftest import BIN, SMOKE, fingerprints, run
from .test_dry_runs import planned

pytestmark = pytest.mark.slow

PATH = f"{BIN}{os.pathsep}{os.environ['PATH']}"
DAY = 86_400_000_000_000  # in nanoseconds
PAGE = os.sysconf("SC_PAGESIZE")  # A tmpfs gives files whole pages.
ONE_RANK, ANOTHER, TWO_RANKS = "x86_64_v3-fp32-noxla-1w", "x86_64_v3-amp-noxla-1w", "x86_64_v3-fp32-noxla-2w"
FULL = "cannot be written: No space left on device; make room on its disk, and start again"
READ_ONLY = "cannot be written: Read-only file system; make it writable, or name another place"
MISSING = "cannot be read: No such file or directory; restore it, or correct its path"
SMOKE_PLAN = ("--configfile", "config/smoke.yaml")


class Disk:
    """A file system of its own, in memory."""

    def __init__(self, folder):
        self.folder = folder

    def mount(self, options):
        if shutil.which("mount") is None:
            pytest.skip("needs the program mount")
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"needs the right to mount: {done.stderr.splitlines()[0]}")

    def remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", self.folder], check=True)

    def fill(self, but_pages=0):
        """Leave no more than some pages free."""
        free = os.statvfs(self.folder).f_bavail
        (self.folder / "ballast").write_bytes(bytes((free - but_pages) * PAGE))

    def make_room(self):
        (self.folder / "ballast").unlink()

    def holds(self):
        """Files and their bytes, but the ballast."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and path.name != "ballast"]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "disk").mkdir()
    made = Disk(tmp_path / "disk")
    made.mount("size=8m")
    yield made
    # Lazily: a process that a failed test left behind must not keep it mounted.
    subprocess.run(["umount", "--lazy", made.folder], check=True)


@pytest.fixture
def seedstudy(monkeypatch, capsys):
    """Run a command in this process; it ends well, or in one line as the pattern says."""

    def command(*arguments, says=None):
        monkeypatch.setattr(sys, "argv", ["seedstudy", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("data: ")]
        if says is None:
            assert not end.value.code, said
        else:
            assert (end.value.code, len(said)) == (2, 1), said
            assert re.fullmatch(f"seedstudy: {says}", said[0]), said

    return command


def one_line_of(done, code=2):
    """What a command of other processes says as its only line of an error."""
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("seedstudy:")]
    return line.removeprefix("seedstudy: ")


def training(smoke, plan, configuration, *seeds, data=None, **folders):
    """The command that trains seeds on the prepared data of the undisturbed study, or other data."""
    data = data or smoke / "build" / "data" / plan.data_digest
    options = {"plan": SMOKE, "configuration": configuration, "data": data} | folders
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    return ["seedstudy", "train", *given, *(part for seed in seeds for part in ("--seed", seed))]


def times(paths):
    return {path: path.stat().st_mtime_ns for path in paths}


def pages_of(smoke, plan):
    """Folder of the undisturbed study's results, and the commands that write the like of them into a folder."""
    results = smoke / plan.output.results

    def commands(folder):
        made_from = ("--runs", results / "runs.csv", "--plan", SMOKE, "--output", folder)
        ledger = ("--plan", SMOKE, "--ledger", smoke / "ledger", "--output", folder / "runs.csv")
        return {
            "runs.csv": ("collect", *ledger),
            "stability.csv": ("tables", *made_from),
            "learning_curves.svg": ("figures", *made_from),
        }

    return results, commands


def set_back(folder):
    for found in [folder, *folder.rglob("*")]:
        ahead = found.stat().st_mtime_ns + DAY
        os.utime(found, ns=(ahead, ahead))


def without(folder, plan, *runs):
    """A finished study as it was before some runs of it."""
    for name, seed in runs:
        digest = plan.configuration(name).run_digest
        Ledger(folder / "ledger", digest).path(seed).unlink()
        (marker,) = folder.glob(f"build/{digest}/{name}.*.ok")
        marker.unlink()
    return folder


def test_training_onto_a_full_disk_keeps_the_finished_seed_and_goes_on(smoke, plan, disk):
    # Two ranks: the first alone writes, and must not end before the second, which trains on, is told to.
    command = training(smoke, plan, TWO_RANKS, 1, 2, 3, ledger=disk.folder / "ledger")
    ledger = Ledger(disk.folder / "ledger", plan.configuration(TWO_RANKS).run_digest)
    disk.fill(but_pages=3 + 1)  # Three leases and a record.
    assert one_line_of(run(*command, check=False)) == f"{ledger.path(2)}: {FULL}"
    assert ledger.missing([1, 2, 3]) == [2, 3]
    finished = times([ledger.path(1)])
    assert {path.name for path in ledger.folder.iterdir()} == {
        "seed-1.json", ".seed-1.lease", ".seed-2.lease", ".seed-3.lease"
    }  # fmt: skip
    disk.make_room()
    run(*command)
    assert ledger.missing([1, 2, 3]) == []
    assert times([ledger.path(1)]) == finished
    undisturbed = {key: found for key, found in fingerprints(smoke, plan).items() if key[0] == TWO_RANKS}
    assert fingerprints(disk.folder, plan) == undisturbed


def test_data_prepared_onto_a_full_disk_are_whole_or_not_there(smoke, plan, disk, seedstudy):
    folder, command = disk.folder / "data", ("data", "prepare", "--plan", SMOKE, "--output")
    # Full while the raw files are written, the Parquet files, the rows to map.
    for pages, place in ((16, ""), (64, "/data"), (200, r"/\.data\.\w+/published/train\.words")):
        disk.fill(but_pages=pages)
        seedstudy(*command, folder, says=f"{disk.folder}{place}: {FULL}")
        assert disk.holds() == {}
        disk.make_room()
    seedstudy(*command, folder)
    undisturbed = json.loads((smoke / "build" / "data" / plan.data_digest / "manifest.json").read_text())
    assert json.loads((folder / "manifest.json").read_text()) == undisturbed


def test_pages_onto_a_full_disk_leave_the_earlier_ones_whole(smoke, plan, disk, seedstudy):
    results, commands = pages_of(smoke, plan)
    earlier = {name: b"earlier" for name in commands(disk.folder)}
    for name, content in earlier.items():
        (disk.folder / name).write_bytes(content)
    disk.fill()
    for name, command in commands(disk.folder).items():
        seedstudy(*command, says=f"{disk.folder / name}: {FULL}")
        assert disk.holds() == earlier
    disk.make_room()
    for command in commands(disk.folder).values():
        seedstudy(*command)
    for name in earlier:
        folder = smoke / plan.output.figures if name.endswith(".svg") else results
        assert (disk.folder / name).read_bytes() == (folder / name).read_bytes()


def test_an_output_that_takes_no_more_is_one_line():
    with open("/dev/full", "w") as full:
        plan = ["seedstudy", "plan", "--margin", "2e-4", "--sd", "1.2e-4"]
        done = subprocess.run(plan, stdout=full, stderr=subprocess.PIPE, text=True, env=os.environ | {"PATH": PATH})
    assert one_line_of(done, code=1) == "standard output: No space left on device; mend that, and start again"


def test_a_read_only_folder_is_one_line_and_data_there_can_be_trained_on(smoke, plan, disk, seedstudy, tmp_path):
    data, ledger = disk.folder / "data", disk.folder / "ledger"
    shutil.copytree(smoke / "build" / "data" / plan.data_digest, data)
    _, commands = pages_of(smoke, plan)
    disk.remount("ro")
    before = disk.holds()
    lease = ledger / plan.configuration(ONE_RANK).run_digest / ".seed-1.lease"
    seedstudy(*training(smoke, plan, ONE_RANK, 1, ledger=ledger)[1:], says=f"{lease}: {READ_ONLY}")
    for folder in (data, disk.folder / "new"):
        seedstudy("data", "prepare", "--plan", SMOKE, "--output", folder, says=f"{folder}: {READ_ONLY}")
    for name, command in commands(disk.folder / "pages").items():
        place = disk.folder / "pages" / (name if command[0] == "collect" else "")
        seedstudy(*command, says=f"{place}: {READ_ONLY}")
    assert disk.holds() == before
    run(*training(smoke, plan, ONE_RANK, 1, data=data, ledger=tmp_path / "ledger"))
    again = fingerprints(tmp_path, plan)
    assert again == {(ONE_RANK, 1): fingerprints(smoke, plan)[ONE_RANK, 1]}
    disk.remount("rw")
    shutil.copytree(tmp_path / "ledger", ledger)
    seedstudy(*training(smoke, plan, ONE_RANK, 1, ledger=ledger)[1:])  # Nothing is left to train.
    for name, command in commands(disk.folder / "pages").items():
        seedstudy(*command)
        assert (disk.folder / "pages" / name).stat().st_size


def test_a_clock_set_back_by_a_day_changes_nothing(smoke, finished, plan):
    """All that is there lies a day ahead of the clock, as it does once the clock is set back by a day.

    Moving the files' times is the same as moving the clock: only the two are ever compared.
    """
    folder = without(finished, plan, (ONE_RANK, 2))
    shutil.rmtree(folder / "build" / "smoke")
    set_back(folder)
    ledger = times(folder.glob("ledger/*/*.json"))
    assert len(ledger) == 15
    done = run("snakemake", "--cores", "2", *SMOKE_PLAN, cwd=folder)
    assert "the clock was set back, so it counts as written now" in one_line_of(done, code=0)
    assert times(ledger) == ledger
    assert fingerprints(folder, plan) == fingerprints(smoke, plan)
    for name in ("stability.csv", "amp_impact.csv"):
        before, after = ((root / plan.output.results / name).read_text() for root in (smoke, folder))
        assert before == after
    # Tables of the time ahead would count as newer than whatever is changed from now on.
    set_back(folder)
    changed = SMOKE.read_text().replace("value: 2e-2", "value: 3e-2")
    (folder / "config" / "smoke.yaml").write_text(changed)
    assert planned(folder, "all", *SMOKE_PLAN) == {"compare": 1, "plots": 1, "all": 1, "total": 3}


@pytest.mark.parametrize(
    ("removed", "says"),
    [
        ("data", "is no folder; make it with `seedstudy data prepare`"),
        ("config/smoke.yaml", MISSING),
        ("config/smoke-seeds.txt", MISSING),
    ],
)
def test_what_is_removed_before_ranks_read_it_is_one_line(smoke, plan, tmp_path, monkeypatch, removed, says):
    shutil.copytree(smoke / "build" / "data" / plan.data_digest, tmp_path / "data")
    shutil.copytree(SMOKE.parent, tmp_path / "config")
    ours, start = load_plan(tmp_path / "config" / "smoke.yaml"), launch._start
    monkeypatch.setattr(launch, "_start", lambda *given: ((tmp_path / removed).rename(tmp_path / "gone"), start(*given))[1])
    with pytest.raises(UserError) as error:
        train_seeds(ours, ours.configuration(ONE_RANK), [1], tmp_path / "data", tmp_path / "ledger")
    assert str(error.value) == f"{tmp_path / removed}: {says}"


def test_a_study_whose_files_are_removed_while_it_runs_goes_on_when_they_are_back(smoke, finished, plan, tmp_path):
    folder = without(finished, plan, (ONE_RANK, 1), (ANOTHER, 1))
    ledgers = {name: Ledger(folder / "ledger", plan.configuration(name).run_digest) for name in (ONE_RANK, ANOTHER)}
    seeds, runs = folder / "config" / "smoke-seeds.txt", folder / plan.output.results / "runs.csv"
    before = fingerprints(folder, plan)
    with open(tmp_path / "log", "w") as log:
        command = ["snakemake", "--cores", "1", *SMOKE_PLAN]
        study = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=os.environ | {"PATH": PATH})
        deadline = time.monotonic() + 120
        while fingerprints(folder, plan) == before and time.monotonic() < deadline:
            time.sleep(0.02)
        seeds.rename(tmp_path / "seeds")  # The first of two jobs has trained; the second has yet to begin.
        assert study.wait(120) == 1
    assert f"seedstudy: {seeds}: {MISSING}\n" in (tmp_path / "log").read_text()
    assert len(fingerprints(folder, plan)) == 15
    (tmp_path / "seeds").rename(seeds)

    # A record whose job is marked as done, and the data: the next study makes them again.
    (done,) = [ledger for ledger in ledgers.values() if ledger.path(1).exists()]
    done.path(2).unlink()
    shutil.rmtree(folder / "build" / "data")
    kept = times(folder.glob("ledger/*/*.json"))
    collect = ["seedstudy", "collect", "--plan", "config/smoke.yaml", "--ledger", "ledger", "--output", runs]
    table = runs.read_bytes()
    first = min(ledgers, key=lambda name: plan.configurations.index(plan.configuration(name)))
    said, _, remedy = one_line_of(run(*collect, cwd=folder, check=False)).partition("; train them: ")
    assert said == f"ledger/{ledgers[first].run_digest}: lacks seed(s) {2 if ledgers[first] is done else 1} of {first}"
    assert runs.read_bytes() == table
    run(*shlex.split(remedy), cwd=folder)
    assert times(kept) == kept
    assert fingerprints(folder, plan) == fingerprints(smoke, plan)
    assert len(pd.read_csv(runs)) == 16
