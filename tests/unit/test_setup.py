"""What set-up says before it builds anything, and how the main job splits its time."""

import collections
import importlib.util
import subprocess

import pytest

from seedstudy.study import ROOT

Usage = collections.namedtuple("Usage", "total used free")


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(monkeypatch, tmp_path):
    module = tool("check_prerequisites")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: Usage(10**11, 0, 10**11))
    return module


def test_nothing_is_said_where_nothing_is_missing(check):
    assert check.lacking() == []


def test_a_missing_compiler_names_the_package(check, monkeypatch):
    monkeypatch.setattr(check.shutil, "which", lambda name: None if name == "g++" else name)
    (line,) = check.lacking()
    assert "no C++ compiler" in line
    assert "apt-get install g++" in line


def test_a_full_disk_names_what_is_needed(check, monkeypatch):
    monkeypatch.setattr(check.shutil, "disk_usage", lambda path: Usage(10**10, 9 * 10**9, 10**9))
    assert check.lacking() == ["needs 6 GB of free disk here, there are 1.0; free some"]


@pytest.mark.parametrize("version", [(3, 10, 9), (3, 14, 0)])
def test_another_python_is_refused(check, monkeypatch, version):
    monkeypatch.setattr(check.sys, "version_info", version)
    (line,) = check.lacking()
    assert line.startswith("needs Python 3.11 to 3.13")


def test_make_without_that_python_is_one_line():
    done = subprocess.run(["make", "check", "PYTHON=python3.99"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.splitlines()[0].startswith("setup: no python3.99; install Python 3.11 to 3.13")


def test_time_that_jobs_share_counts_once():
    study = tool("run_study")
    assert study.covered([(0.0, 10.0), (5.0, 12.0), (20.0, 21.0)]) == 13.0
