"""Guests: the RDMA guests (scripts/rdma-box) of one run. Even an idle guest takes processor time from other tests."""

import os
import subprocess
from pathlib import Path

from table import Test

_BOX = Path(__file__).parents[1] / "rdma-box"


def needs_guest(test: Test) -> bool:
    return test.name.startswith("rdma/")


class Guests:
    def __init__(self, lab: str, tests: list[Test]):
        """`tests`: all runs to come. tests/jobs.bash names the boxes after the lab."""
        self._left = sum(map(needs_guest, tests))
        self._boxes = [f"{lab}n{nodes}" for nodes in (1, 2) if self._left]

    def ended(self, test: Test) -> None:
        """Takes the guests down if this was the last test that needs one."""
        if needs_guest(test):
            self._left -= 1
            if self._left == 0:
                self.down()

    def down(self) -> None:
        """Takes down those that are up; the next test that needs one starts it again."""
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for box in self._boxes:
            subprocess.run([_BOX, "down"], env=os.environ | {"LFC_RDMA_BOX": box}, check=False, **quiet)
