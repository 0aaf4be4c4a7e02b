"""Report: prints a line for each test that has ended, and the counts of all."""

import time
from collections import Counter, defaultdict
from pathlib import Path

from durations import Durations
from junit import Junit
from outcome import Run
from table import Test
from total import Part

_SHOWN = 60  # lines of the log of a failed test


def say(*lines: str) -> None:
    """Prints without a buffer, so that the reader of a pipe sees it at once."""
    for line in lines:
        print(line, flush=True)


class Report:
    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._failed: set[str] = set()  # names
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by the first part of the names
        self._junit = Junit()
        self._ended: list[Run] = []
        self._start = time.monotonic()

    def failed(self) -> int:
        return self._count["failed"]

    def ended(self, run: Run, again: str) -> None:
        """Counts the test; if it failed, prints the end of its log. `again`: when it runs again; empty: never."""
        name = run.test.name
        self._add(run)
        self._junit.ended(run)
        self._ended.append(run)
        if run.passed:
            say(f"ok {name} {run.seconds:.1f}s")
        elif run.skipped:
            say(f"skipped {name} ({(run.lines() or [''])[-1]})")
        else:
            self._failed.add(name)
            say(*(f"    {line}" for line in run.lines()[-_SHOWN:]))
            if again:
                say(f"failed {name} {run.seconds:.1f}s, runs again {again}")
            else:
                say(f"FAILED {name} {run.seconds:.1f}s (log: {run.log})")

    def repeated(self, run: Run, number: int, times: int) -> None:
        """Counts one of many runs of a test."""
        self._add(run)
        which = f"{run.test.name} {run.seconds:.1f}s ({number} of {times})"
        if run.red:
            say(f"FAILED {which}: {run.reason()} (log: {run.log})")
        else:
            say(f"{'ok' if run.passed else 'skipped'} {which}")

    def excuse(self, tests: list[Test]) -> None:
        """Counts these tests as passed, and no longer as failed."""
        self._failed -= {test.name for test in tests}
        self._count["failed"] -= len(tests)
        self._count["passed"] += len(tests)
        for test in tests:
            self._junit.excuse(test.name)

    def interrupted(self, names: list[str]) -> None:
        """Counts these tests as failed; a test that failed, ran again and failed counts once."""
        self._count["failed"] += len(set(names) - self._failed)
        self._failed |= set(names)
        say(*(f"INTERRUPTED {name}" for name in names))

    def spent(self, run: Run) -> None:
        """Adds the time of a run that does not count by itself."""
        self._seconds[run.test.name.partition("/")[0]] += run.seconds

    def part(self, revision: str) -> Part:
        """Returns the results of this run as those of a part."""
        return Part(
            revision, self._count["passed"], sorted(self._failed), self._count["skipped"], int(time.monotonic() - self._start)
        )

    def write(self, junit: Path, durations: Durations) -> None:
        """Writes the ends of the tests as XML, and adds those of this run to the table of durations."""
        self._junit.write(junit)
        for run in self._ended:
            durations.add(run)
        durations.write()

    def summary(self) -> str:
        """Returns the last lines of a run."""
        lines = []
        if len(self._seconds) > 1:
            parts = " ".join(f"{part} {seconds:.1f}," for part, seconds in self._seconds.items())
            lines.append(f"seconds by part: {parts} all {time.monotonic() - self._start:.0f}")
        skipped = f", {self._count['skipped']} skipped" if self._count["skipped"] else ""
        lines.append(f"{self._count['passed']} passed, {self._count['failed']} failed{skipped}")
        return "\n".join(lines)

    def _add(self, run: Run) -> None:
        self.spent(run)
        self._count["passed" if run.passed else "skipped" if run.skipped else "failed"] += 1
