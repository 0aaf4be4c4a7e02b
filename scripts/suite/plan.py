"""Plan: the order in which the runner would start tests on a machine of so many processors, and the length of the run."""

import heapq
import itertools
from collections.abc import Callable

from schedule import Schedule
from table import Test


def plan(schedule: Schedule, seconds: Callable[[Test], float]) -> tuple[list[tuple[float, Test]], float]:
    """Returns each test with the time at which it starts, and the time at which the last one ends."""
    starts: list[tuple[float, Test]] = []
    running: list[tuple[float, int, Test]] = []  # by their end
    now, number = 0.0, itertools.count()
    while True:
        while test := schedule.take():
            starts.append((now, test))
            heapq.heappush(running, (now + seconds(test), next(number), test))
        if not running:
            return starts, now
        now, _, test = heapq.heappop(running)
        schedule.ended(test)


def lines(schedule: Schedule, seconds: Callable[[Test], float], processors: int) -> list[str]:
    """Returns a line for each test, and one with the length."""
    starts, length = plan(schedule, seconds)
    rows = [f"{start:7.1f} {seconds(test):7.1f}  {test.name}" for start, test in starts]
    minutes, rest = divmod(round(length), 60)
    return ["  start seconds  test", *rows, f"plan: {len(starts)} tests, {minutes} min {rest} s on {processors} processors"]
