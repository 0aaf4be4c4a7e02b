"""Finds the processes that a test has started by their mark, through scripts/lib/marked.sh, which explains the mark."""

import subprocess
from pathlib import Path

_LIBRARY = Path(__file__).parents[1] / "lib/marked.sh"


def _call(function: str, mark: str) -> str:
    command = ["bash", "-c", '. "$0" && "$@"', _LIBRARY, function, mark]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace").stdout


def listed(mark: str) -> str:
    """Returns a line of `ps` for each process, nothing if there is none."""
    return _call("marked_list", mark)


def state(mark: str) -> str:
    """Returns the state and the stacks of all."""
    return _call("marked_show", mark)


def kill(mark: str) -> None:
    """Kills them until none is left that could start another."""
    _call("marked_kill", mark)
