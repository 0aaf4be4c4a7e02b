"""Runner: runs tests; those that need only one processor run side by side."""

import os
import queue
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import marked
from outcome import Run
from table import Test
from watch import End, watch


class Runner:
    """Runs each test by the program `kinds`, which implements the kinds of tests."""

    def __init__(self, kinds: Path, logs: Path, patience: int):
        self._kinds, self._logs, self._patience = kinds, logs, patience
        self._running: dict[str, tuple[Test, str]] = {}  # by name: with the mark of its processes
        self._ended: queue.Queue[Run] = queue.Queue()
        logs.mkdir(parents=True, exist_ok=True)

    def run(self, tests: list[Test], keep_going: bool, ended: Callable[[Run], None]) -> tuple[list[Run], list[Test]]:
        """Runs all, or until one fails, and calls `ended` for each. Returns the failed ones, and those not run."""
        red: list[Run] = []

        def end_one() -> None:
            run = self._next_end()
            ended(run)
            if run.red:
                red.append(run)

        left: list[Test] = []
        for number, test in enumerate(tests):
            while not self._may_start(test):
                end_one()
            if red and not keep_going:
                left = tests[number:]
                break
            self._start_one(test, self.log_of(test), {})
        while self._running:
            end_one()
        return red, left

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

    def _may_start(self, test: Test) -> bool:
        """Returns whether no test runs; or this and all running tests need one processor each, and one is free."""
        if not self._running:
            return True
        if len(self._running) >= len(os.sched_getaffinity(0)):
            return False
        return test.one_core and all(other.one_core for other, _ in self._running.values())

    def _start_one(self, test: Test, log: Path, environment: dict[str, str]) -> None:
        mark = f"{os.getpid()}.{random.getrandbits(60)}"
        self._running[test.name] = (test, mark)
        arguments = (test, log, environment | {"LFC_TEST_MARK": mark})
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
