"""Runner: runs tests, as many at once as the schedule permits."""

import os
import queue
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import marked
from outcome import Run
from schedule import Schedule
from table import Test
from watch import End, watch


class Runner:
    """Runs each test by the program `kinds`, which implements the kinds of tests."""

    def __init__(self, kinds: Path, logs: Path, patience: int):
        self._kinds, self._logs, self._patience = kinds, logs, patience
        self._running: dict[str, tuple[Test, str]] = {}  # by name: with the mark of its processes
        self._ended: queue.Queue[Run] = queue.Queue()
        logs.mkdir(parents=True, exist_ok=True)

    def run(self, schedule: Schedule, keep_going: bool, ended: Callable[[Run], None]) -> list[Run]:
        """Runs all, or until one fails, and calls `ended` for each. Returns the failed ones."""
        red: list[Run] = []
        while True:
            while (keep_going or not red) and (test := schedule.take()):
                self._start_one(test, self.log_of(test), {})
            if not self._running:
                return red
            run = self._next_end()
            schedule.ended(run.test)
            ended(run)
            if run.red:
                red.append(run)

    def run_alone(self, test: Test, log: Path, environment: dict[str, str]) -> Run:
        """Runs one test, while no other runs."""
        self._start_one(test, log, environment)
        return self._next_end()

    def log_of(self, test: Test, which: str = "") -> Path:
        """Returns the path of a log of this test. `which`: one of several, such as "first"."""
        return self._logs / (test.name.replace("/", ".") + (which and f".{which}") + ".log")

    def interrupt(self) -> list[str]:
        """Kills the tests that run, and returns their names."""
        names = list(self._running)
        for _, mark in self._running.values():
            marked.kill(mark)
        self._running.clear()
        return names

    def _start_one(self, test: Test, log: Path, environment: dict[str, str]) -> None:
        mark = f"{os.getpid()}.{random.getrandbits(60)}"
        self._running[test.name] = (test, mark)
        environment = environment | {"LFC_TEST_MARK": mark, "LFC_TEST_PATIENCE": str(self._patience)}
        arguments = (test, log, environment)
        threading.Thread(target=self._watch, args=arguments, daemon=True).start()

    def _watch(self, test: Test, log: Path, environment: dict[str, str]) -> None:
        start, end = time.monotonic(), End(1)
        try:
            end = watch([str(self._kinds), *test.command], test.name, test.seconds * self._patience, environment, log)
        finally:
            self._ended.put(Run(test, end, start, time.monotonic(), log))

    def _next_end(self) -> Run:
        """Waits for the end of one of the tests that run."""
        run = self._ended.get()
        del self._running[run.test.name]
        return run
