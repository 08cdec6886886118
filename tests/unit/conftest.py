"""The command line in this process: exit code, both streams, and any warning an error."""

import sys
import warnings
from dataclasses import dataclass

import pytest

from seedstudy import cli


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def refused(self, *said):
        """One line on standard error that says all this, and nothing on standard output."""
        assert self.code == 2, self
        (line,) = self.err.splitlines()
        assert line.startswith("seedstudy: ")
        for text in said:
            assert text in line
        assert self.out == ""

    def accepted(self):
        assert (self.code, self.err) == (0, ""), self
        return self


@pytest.fixture
def seedstudy(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["seedstudy", *map(str, arguments)])
        with warnings.catch_warnings():
            # A warning would be a second line on standard error.
            for kind in (RuntimeWarning, UserWarning, FutureWarning):
                warnings.simplefilter("error", kind)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        return Done(ended.value.code or 0, *capsys.readouterr())

    return run
