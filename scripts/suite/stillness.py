"""Stillness: times in which no process of this machine ran, as they occur in a virtual machine.

    stillness = Stillness()
    stillness.start()
    ...
    stillness.during(run.start, run.stop)   # 7.2: seconds for which the machine stood still while the test ran

A thread sleeps for a tenth of a second at a time, and records each time that it wakes up too late. It cannot
distinguish a runner that was stopped (Ctrl-Z).
"""

import threading
import time
from collections.abc import Callable

_STEP = 0.1  # seconds
_SHORTEST = 1.0  # seconds: a shorter gap is load
# Seconds. The shortest limit inside a test is about this long, so a shorter gap explains no failure.
EXCUSES = 5.0


class Stillness:
    def __init__(self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep):
        self._clock, self._sleep = clock, sleep
        self._last = clock()
        self._gaps: list[tuple[float, float]] = []  # begin and end

    def start(self) -> None:
        """Starts the thread, which records gaps until the program ends."""
        threading.Thread(target=self._watch, daemon=True).start()

    def look(self) -> None:
        """Sleeps for one step, and records a gap if there was one."""
        self._sleep(_STEP)
        now = self._clock()
        if now - self._last - _STEP > _SHORTEST:
            self._gaps.append((self._last, now))
        self._last = now

    def during(self, start: float, stop: float) -> float:
        """Returns the seconds of the longest gap that overlaps these times; 0 if it explains no failure."""
        gaps = [end - begin for begin, end in list(self._gaps) if begin < stop and end > start]
        longest = max(gaps, default=0.0)
        return longest if longest >= EXCUSES else 0.0

    def summary(self) -> str:
        lengths = [end - begin for begin, end in self._gaps]
        if not lengths:
            return "the machine stood still: never"
        return f"the machine stood still: {sum(lengths):.1f} s ({len(lengths)} times, at most {max(lengths):.1f} s)"

    def _watch(self) -> None:
        while True:
            self.look()
