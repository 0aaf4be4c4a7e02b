"""The rows of tests/unsteady.table. The top of the table explains its meaning."""

import datetime
from pathlib import Path

from table import Wrong


def read(path: Path, names: set[str]) -> dict[str, str]:
    """Returns the date of the first row of each test; each test must be one of `names`."""
    dates: dict[str, str] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, date, *reason = [*line.split(maxsplit=2), ""][:3]
        if not reason[0]:
            raise Wrong(f"{path}:{number}: not a name, a date and a reason")
        if name not in names:
            raise Wrong(f"{path}:{number}: there is no test '{name}'")
        try:
            datetime.date.fromisoformat(date)
        except ValueError:
            raise Wrong(f"{path}:{number}: '{date}' is no date (YYYY-MM-DD)") from None
        dates.setdefault(name, date)
    return dates


def row(name: str, reason: str) -> str:
    """Returns a row to paste, with today's date."""
    return f"{name}  {datetime.date.today().isoformat()}  {reason}"
