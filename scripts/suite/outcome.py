"""Run: one execution of a test, with its end, its times and its log."""

import re
from dataclasses import dataclass
from pathlib import Path

from table import Test
from watch import LATE, SKIPPED, End

# Patterns of log lines that explain a failure, the best explanation first.
_TELLING = [
    r"TIME IS UP: ",
    r"LEFT RUNNING ",
    r"late: ",
    r".*Sanitizer: ",
    r".*runtime error: ",
    r"FAIL",
    r"HANG ",
    r".*FAILED",
]


@dataclass(frozen=True)
class Run:
    test: Test
    end: End
    start: float  # time.monotonic(), as `stop`
    stop: float
    log: Path

    @property
    def seconds(self) -> float:
        return self.stop - self.start

    @property
    def passed(self) -> bool:
        return self.end.status == 0

    @property
    def skipped(self) -> bool:
        return self.end.status == SKIPPED

    @property
    def late(self) -> bool:
        return self.end.status == LATE

    @property
    def red(self) -> bool:
        return not self.passed and not self.skipped

    def lines(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()

    def case(self) -> str:
        """Returns the first case that a Catch2 program reports as failed, up to 79 columns of it."""
        lines = self.lines()
        for number, line in enumerate(lines[:-1]):
            if re.fullmatch("-{79,}", line) and lines[number + 1].strip("-. ") and not lines[number + 1].startswith(" "):
                return lines[number + 1]
        return "unknown"

    def reason(self) -> str:
        """Returns the line of the log that explains the failure best, or the last line."""
        lines = [line.strip() for line in self.lines() if line.strip()]
        for pattern in _TELLING:
            for line in lines:
                if re.match(pattern, line):
                    return line[:200]
        return lines[-1][:200] if lines else f"exit code {self.end.status}"
