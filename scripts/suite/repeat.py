"""Runs tests many times in turn, to find how often each fails."""

from collections import Counter

from guests import Guests
from outcome import Run
from report import Report, say
from runner import Runner
from table import Test


def repeat(tests: list[Test], times: int, runner: Runner, report: Report, guests: Guests) -> None:
    """Runs each test alone, `times` times; keeps the log of each failed run as NAME.K.log."""
    ends: dict[str, Counter[str]] = {test.name: Counter() for test in tests}
    for number in range(1, times + 1):
        for test in tests:
            run = runner.run_alone(test, runner.log_of(test, str(number)), {})
            report.repeated(run, number, times)
            ends[test.name].update(_facts(run))
            if not run.red:
                run.log.unlink(missing_ok=True)
            guests.ended(test)
    for name, count in ends.items():
        notes = "".join(f", {count[fact]} {fact}" for fact in ("late", "skipped") if count[fact])
        say(f"{name}: {count['failed']} of {times} failed{notes}")


def _facts(run: Run) -> list[str]:
    """Returns the properties of a run that are counted; a late run has also failed."""
    return [fact for fact, holds in (("failed", run.red), ("late", run.late), ("skipped", run.skipped)) if holds]
