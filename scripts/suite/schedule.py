"""Schedule: which test may start now, for the processors of the machine.

    schedule = Schedule(tests, processors=8, usual=durations.seconds)
    while test := schedule.take():      # until nothing else may start now
        start(test)
    schedule.ended(test)

Invariants (held by tests/scripts/test_schedule.py):
* Tests that run at once keep no more processors busy than there are. A test with more ranks than processors counts
  as all of them.
* A test starts after the builds that it needs have ended. If none of the chosen tests makes such a build, the first
  one that needs it makes it, and the others wait for that one.
* A build takes all processors but the share of one test that mostly waits. Builds run one at a time.
* A test that judges time runs alone, after all others.

Builds come first, in the order of the table, and then the tests that usually take longest.
"""

from collections.abc import Callable

from table import WAITS, Test


class Schedule:
    def __init__(self, tests: list[Test], processors: int, usual: Callable[[Test], float]):
        self._processors = processors
        self._needs = _resolved(tests)
        shared = [test for test in tests if not test.alone]
        first = {test.name for test in shared if test.builds}
        first |= {need for name in first for need in self._needs[name]}
        shared.sort(key=lambda test: (test.name not in first, 0 if test.name in first else -usual(test)))
        self._left = shared + [test for test in tests if test.alone]
        self._running: list[Test] = []
        self._ended: set[str] = set()

    def take(self) -> Test | None:
        """Returns a test that is to start now, and counts it as running; None: none may start before another ends."""
        for test in self._left:
            if self._may_start(test):
                return self._start(test)
        if self._left and not self._running:
            return self._start(next(filter(self._is_ready, self._left), self._left[0]))
        return None

    def ended(self, test: Test) -> None:
        self._running.remove(test)
        self._ended.add(test.name)

    def left(self) -> int:
        """Returns how many have not started."""
        return len(self._left)

    def _may_start(self, test: Test) -> bool:
        """Returns whether it may start beside the tests that run."""
        if test.alone or not self._is_ready(test):
            return False
        if any(other.alone or (other.builds and test.builds) for other in self._running):
            return False
        return sum(map(self._share, [*self._running, test])) <= self._processors

    def _is_ready(self, test: Test) -> bool:
        return self._needs[test.name] <= self._ended

    def _start(self, test: Test) -> Test:
        self._left.remove(test)
        self._running.append(test)
        return test

    def _share(self, test: Test) -> float:
        return self._processors - WAITS if test.builds else min(test.cores, self._processors)


def _resolved(tests: list[Test]) -> dict[str, set[str]]:
    """Returns for each test the names of the tests that must have ended before it starts."""
    names = {test.name for test in tests}
    makers: dict[str, str] = {}  # of builds that are not among the tests: the first test that needs each
    resolved: dict[str, set[str]] = {}
    for test in tests:
        needed = {need if need in names else makers.setdefault(need, test.name) for need in test.needs}
        resolved[test.name] = needed - {test.name}
    return resolved
