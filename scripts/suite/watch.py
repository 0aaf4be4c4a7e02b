"""Runs one test: in its time, with its output in a log, and with nothing left running at its end."""

import os
import subprocess
import time
from pathlib import Path

import marked

SKIPPED = 77


def watch(command: list[str], name: str, limit: int, mark: str, log: Path) -> int:
    """The exit code of the command, or 1 if it did not end in `limit` seconds or left a process running; the log says so."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            # A background job ignores INT and QUIT, one of nohup HUP as well, and so would all that a test starts.
            ["env", "--default-signal=HUP,INT,QUIT", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"LFC_TEST_MARK": mark, "LFC_TEST_LIMIT": str(limit)},
            start_new_session=True,
        )
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        _append(log, f"TIME IS UP: {name} did not end in {limit} s\n{marked.state(mark)}")
        marked.kill(mark)
        process.wait()
        return 1
    left = _left_running(mark)
    if left:
        _append(log, f"LEFT RUNNING by {name}:\n{left}")
        marked.kill(mark)
        return 1
    return status


def _left_running(mark: str) -> str:
    """What still runs; daemons may need a moment to notice the end of their job."""
    for _ in range(20):
        left = marked.listed(mark)
        if not left:
            break
        time.sleep(0.25)
    return left


def _append(log: Path, text: str) -> None:
    with log.open("a") as output:
        output.write(text)
