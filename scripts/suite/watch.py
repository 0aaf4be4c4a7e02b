"""Runs one test within its time limit, with its output in a log, and leaves no process of it running."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import marked

SKIPPED = 77
LATE = 76  # the test has missed a bound of time or a ratio, and found nothing else wrong


@dataclass(frozen=True)
class End:
    """How a test ended. The status is 1 if it did not end in its time, or left a process running."""

    status: int
    timed_out: bool = False
    left_running: bool = False
    busy: float = 0.0  # seconds of processors that it and its children have used


def watch(command: list[str], name: str, limit: int, environment: dict[str, str], log: Path) -> End:
    """Waits for the command, for at most `limit` seconds; `environment` has the mark of its processes.

    The log also has the processes that did not end.
    """
    log.unlink(missing_ok=True)
    mark = environment["LFC_TEST_MARK"]
    with log.open("ab") as output:  # appends: this program and the test write to the same file
        process = subprocess.Popen(
            # A background job ignores INT and QUIT, and one of nohup also HUP. Processes of a test would inherit that.
            ["env", "--default-signal=HUP,INT,QUIT", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | environment | {"LFC_TEST_LIMIT": str(limit)},
            start_new_session=True,
        )
    try:
        status, busy = _wait(process, limit)
    except subprocess.TimeoutExpired:
        _append(log, f"TIME IS UP: {name} did not end in {limit} s\n{marked.state(mark)}")
        marked.kill(mark)
        process.wait()
        return End(1, timed_out=True)
    left = _left_running(mark)
    if left:
        _append(log, f"LEFT RUNNING by {name}:\n{left}")
        marked.kill(mark)
        return End(1, left_running=True, busy=busy)
    return End(status, busy=busy)


def _wait(process: subprocess.Popen, limit: float) -> tuple[int, float]:
    """As Popen.wait(): returns the exit code, and the seconds of processors."""
    end, pause = time.monotonic() + limit, 0.001
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(process.args, limit)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _left_running(mark: str) -> str:
    """Returns the processes that still run; daemons may need a moment to detect the end of their job."""
    for _ in range(20):
        left = marked.listed(mark)
        if not left:
            break
        time.sleep(0.25)
    return left


def _append(log: Path, text: str) -> None:
    with log.open("a") as output:
        output.write(text)
