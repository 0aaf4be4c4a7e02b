"""Durations: how long each test usually takes, from the last run here, or else from tests/durations.table.

    durations = Durations(tree / "tests/durations.table", logs / "durations.table")
    durations.seconds(test)              # its time in the last run
    durations.on(test, processors=8)     # with so many processors
    durations.expected(test)             # by the table of the tree alone
    durations.add(run)                   # at the end of a test
    durations.write()
"""

from dataclasses import dataclass
from pathlib import Path

from outcome import Run
from table import Test, Wrong

_SHORT = 1.0  # seconds of a test that no table has: the mean of those that take less than three
_SHARE = 0.2  # of its limit that a test takes at most, if its limit is right
_USUAL_LIMIT = 600  # seconds; a test with a longer one and without an entry counts by it


@dataclass(frozen=True)
class _Duration:
    seconds: float
    busy: float  # seconds of processors


class Durations:
    def __init__(self, usual: Path, last: Path):
        """`usual`: a table of the tree; `last`: that of the last run, which need not exist."""
        self._last = last
        self._here = _read(last)
        self._usual = _read(usual)
        self._known = self._usual | self._here

    def seconds(self, test: Test) -> float:
        return self._of(test).seconds

    def on(self, test: Test, processors: int) -> float:
        """Returns the seconds with so many processors: only a build gains from more."""
        known = self._of(test)
        return known.busy / processors if test.builds else known.seconds

    def expected(self, test: Test) -> float:
        """Returns the seconds by the tree alone, so that all machines divide a run alike."""
        return self._usual.get(test.name, _guess(test)).seconds

    def add(self, run: Run) -> None:
        if run.passed:
            self._here[run.test.name] = _Duration(run.seconds, run.end.busy)

    def write(self) -> None:
        rows = (f"{name}  {known.seconds:.1f}  {known.busy:.1f}\n" for name, known in self._here.items())
        self._last.write_text("".join(rows))

    def _of(self, test: Test) -> _Duration:
        return self._known.get(test.name, _guess(test))


def _guess(test: Test) -> _Duration:
    seconds = test.seconds * _SHARE if test.seconds > _USUAL_LIMIT else _SHORT
    return _Duration(seconds, seconds)


def _read(path: Path) -> dict[str, _Duration]:
    known: dict[str, _Duration] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, seconds, *busy = line.split()
            known[name] = _Duration(float(seconds), *map(float, busy or [seconds]))
        except (TypeError, ValueError):
            raise Wrong(f"{path}:{number}: not a name, seconds, and perhaps seconds of processors") from None
    return known
