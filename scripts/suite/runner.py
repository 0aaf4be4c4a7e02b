"""Runs tests, those that are content with one processor side by side, and prints a line for each."""

import os
import queue
import random
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

import marked
from table import Test
from watch import SKIPPED, watch


class Runner:
    """Runs the kind of each test, given by the program `kinds`, and counts how they end."""

    def __init__(self, kinds: Path, logs: Path, patience: int):
        self._kinds, self._logs, self._patience = kinds, logs, patience
        self._running: dict[str, tuple[Test, str]] = {}  # by name: with the mark of its processes
        self._ended: queue.Queue[tuple[str, int, float]] = queue.Queue()
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by the first part of the names
        self._start = time.monotonic()
        self.count: Counter[str] = Counter()
        logs.mkdir(parents=True, exist_ok=True)

    def run(self, tests: list[Test], keep_going: bool) -> None:
        """All of them, or until one fails."""
        for number, test in enumerate(tests):
            while not self._may_start(test):
                self._end_one()
            if self.count["failed"] and not keep_going:
                left = len(tests) - number
                break
            self._start_one(test)
        else:
            left = 0
        while self._running:
            self._end_one()
        if left:
            print(f"stopped at the first failure, {left} not run (--keep-going runs them)", flush=True)

    def interrupt(self) -> None:
        """Ends what runs."""
        for name, (_, mark) in self._running.items():
            marked.kill(mark)
            print(f"INTERRUPTED {name}", flush=True)
            self.count["failed"] += 1
        self._running.clear()

    def summary(self) -> str:
        """The last lines of a run."""
        lines = []
        if len(self._seconds) > 1:
            parts = " ".join(f"{part} {seconds:.1f}," for part, seconds in self._seconds.items())
            lines.append(f"seconds by part: {parts} all {time.monotonic() - self._start:.0f}")
        skipped = f", {self.count['skipped']} skipped" if self.count["skipped"] else ""
        lines.append(f"{self.count['passed']} passed, {self.count['failed']} failed{skipped}")
        return "\n".join(lines)

    def _may_start(self, test: Test) -> bool:
        """Nothing else runs, or it and all that run are content with one processor each, and there is one."""
        if not self._running:
            return True
        if len(self._running) >= len(os.sched_getaffinity(0)):
            return False
        return test.one_core and all(other.one_core for other, _ in self._running.values())

    def _log_of(self, name: str) -> Path:
        return self._logs / (name.replace("/", ".") + ".log")

    def _start_one(self, test: Test) -> None:
        mark = f"{os.getpid()}.{random.getrandbits(60)}"
        self._running[test.name] = (test, mark)
        threading.Thread(target=self._watch, args=(test, mark), daemon=True).start()

    def _watch(self, test: Test, mark: str) -> None:
        start, status = time.monotonic(), 1
        try:
            limit = test.seconds * self._patience
            status = watch([str(self._kinds), *test.command], test.name, limit, mark, self._log_of(test.name))
        finally:
            self._ended.put((test.name, status, time.monotonic() - start))

    def _end_one(self) -> None:
        """Waits for one of the tests that run, and says how it ended."""
        name, status, spent = self._ended.get()
        del self._running[name]
        self._seconds[name.partition("/")[0]] += spent
        lines = self._log_of(name).read_text(errors="replace").splitlines()
        if status == 0:
            self.count["passed"] += 1
            print(f"ok {name} {spent:.1f}s", flush=True)
        elif status == SKIPPED:
            self.count["skipped"] += 1
            print(f"skipped {name} ({lines[-1] if lines else ''})", flush=True)
        else:
            self.count["failed"] += 1
            print(*(f"    {line}" for line in lines[-60:]), sep="\n")
            print(f"FAILED {name} {spent:.1f}s (log: {self._log_of(name)})", flush=True)
