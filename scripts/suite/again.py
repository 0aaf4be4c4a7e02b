"""Again: runs tests, and repeats each failed one twice, alone, when all others have ended.

A test that passes both times is unsteady. A few unsteady tests do not fail a run, so that an old fault does not block a
change. They are printed, and tests/unsteady.table keeps them until they are fixed.
"""

import dataclasses
import itertools

import unsteady
from excuses import never_excused
from guests import Guests, needs_guest
from outcome import Run
from report import Report, say
from runner import Runner
from schedule import Schedule
from stillness import Stillness
from table import Test

# How many unsteady tests a run may have, and how many together with those that were only late.
MOST_UNSTEADY, MOST_WITH_LATE = 2, 5
# If more have failed, it was not chance, and no test runs again: each would take up to three times its limit.
MOST_AGAIN = 10


class Again:
    def __init__(self, runner: Runner, report: Report, stillness: Stillness, guests: Guests, known: dict[tuple[str, str], str]):
        """`known`: the tests and cases of tests/unsteady.table, with dates."""
        self._runner, self._report, self._stillness, self._guests = runner, report, stillness, guests
        self._known = known
        self._unsteady: list[Run] = []  # their first runs

    def run(self, tests: list[Test], schedule: Schedule, keep_going: bool, once: bool) -> None:
        """Runs all, or until one fails without excuse. `once`: none runs again, and none is excused."""
        when = "" if once else "when all others are through" if keep_going else "now"

        def ended(run: Run) -> None:
            self._report.ended(run, when)
            self._guests.ended(run.test)

        self._forget_logs(tests)
        while schedule.left():
            red = self._runner.run(schedule, keep_going, ended)
            if not once:
                self._judge(red)
            if schedule.left() and self._report.failed():
                say(f"stopped at the first failure, {schedule.left()} not run (--keep-going runs them)")
                break

    def summary(self) -> list[str]:
        """Returns lines with the unsteady tests and the rows to add to tests/unsteady.table."""
        names = ", ".join(first.test.name for first in self._unsteady)
        if not names:
            return []
        rows = map(unsteady.row, self._unsteady)
        return [f"unsteady: {len(self._unsteady)} ({names})", "for tests/unsteady.table:", *rows]

    def _forget_logs(self, tests: list[Test]) -> None:
        """Removes the logs that an earlier run has written of tests that ran again."""
        for test, which in itertools.product(tests, ("first", "second", "third")):
            self._runner.log_of(test, which).unlink(missing_ok=True)

    def _judge(self, red: list[Run]) -> None:
        """Runs each failed test again; an excused one no longer counts as failed."""
        if len(red) > MOST_AGAIN:
            say(f"{len(red)} tests have failed, more than {MOST_AGAIN}: none runs again")
            say(*(f"FAILED {first.test.name} ({first.reason()}; log: {first.log})" for first in red))
            return
        if red:
            self._guests.down()
        # Tests that need a guest run last, so that no other test runs while a guest is up.
        in_turn = map(self._keep_log, sorted(red, key=lambda run: needs_guest(run.test)))
        batch = [first for first in in_turn if self._is_unsteady(first)]
        self._unsteady += batch
        late = sum(first.late for first in self._unsteady)
        if len(self._unsteady) - late <= MOST_UNSTEADY and len(self._unsteady) <= MOST_WITH_LATE:
            self._report.excuse([first.test for first in batch])
        else:
            say(f"too many are unsteady: {len(self._unsteady)}, of them {late} only late")
            say(*(f"FAILED {first.test.name} (log: {first.log})" for first in batch))

    def _keep_log(self, first: Run) -> Run:
        return dataclasses.replace(first, log=first.log.rename(self._runner.log_of(first.test, "first")))

    def _is_unsteady(self, first: Run) -> bool:
        """Runs a test again, and prints the result; returns whether it is unsteady."""
        name, runs = first.test.name, [first]
        for which in ("second", "third"):
            if len(runs) == 2 and all(run.end.timed_out for run in runs):
                break  # it hangs; a third run would take as long and show nothing new
            log = self._runner.log_of(first.test, which)
            runs.append(self._runner.run_alone(first.test, log, {"LFC_TEST_AGAIN": "1"}))
            self._report.spent(runs[-1])
        failed = sum(not run.passed for run in runs)
        never = never_excused(first)
        still = self._stillness.during(first.start, first.stop)
        if failed > 1 or never:
            why = f"never excused: {never}" if never else first.reason()
            say(f"FAILED {name} (fails {failed} of {len(runs)}; {why}; log: {first.log})")
            return False
        if still:
            self._report.excuse([first.test])
            say(f"ok {name} (again: the machine stood still for {still:.0f} s)")
            return False
        since = self._known.get((name, first.case() if first.test.has_cases else ""))
        note = f"in tests/unsteady.table since {since}; " if since else ""
        say(f"unsteady {'again ' if since else ''}{name}: {first.reason()} ({note}log: {first.log})")
        return True
