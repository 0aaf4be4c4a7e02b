"""The rows of tests/unsteady.table. The top of the table explains its meaning."""

import datetime
import re
from pathlib import Path

from outcome import Run
from table import Test, Wrong

_CASE = re.compile(r'"(.+?)": (.+)')


def read(path: Path, tests: dict[str, Test]) -> dict[tuple[str, str], str]:
    """Returns the date of the first row of each test and case; the case is empty unless the test is a Catch2 program."""
    dates: dict[tuple[str, str], str] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, date, *reason = [*line.split(maxsplit=2), ""][:3]
        if not reason[0]:
            raise Wrong(f"{path}:{number}: not a name, a date and a reason")
        if name not in tests:
            raise Wrong(f"{path}:{number}: there is no test '{name}'")
        case = _CASE.match(reason[0]) if tests[name].has_cases else None
        if tests[name].has_cases and not case:
            raise Wrong(f'{path}:{number}: the reason does not begin with the case: "CASE": reason')
        try:
            datetime.date.fromisoformat(date)
        except ValueError:
            raise Wrong(f"{path}:{number}: '{date}' is no date (YYYY-MM-DD)") from None
        dates.setdefault((name, case[1] if case else ""), date)
    return dates


def row(run: Run) -> str:
    """Returns a row to paste, with today's date."""
    case = f'"{run.case()}": ' if run.test.has_cases else ""
    return f"{run.test.name}  {datetime.date.today().isoformat()}  {case}{run.reason()}"
