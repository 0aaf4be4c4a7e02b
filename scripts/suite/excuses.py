"""Which failures are never excused, even if the test passes when it runs again: no load on a machine causes them."""

import re
from fnmatch import fnmatchcase

from outcome import Run

# These tests read no clock, or their program checks each access to memory.
NEVER_BY_NAME = ["build", "*/build", "asan/*", "tsan/*", "fuzz/*", "sim/*", "small/*", "coll/stock.*", "programs/stock"]

# These read no clock either, but a slow machine may not get through them in their time.
NEVER_BUT_FOR_TIME = ["check/*"]

# Each entry is a reason and a pattern for lines of a log. The first line that matches is printed.
NEVER_BY_REASON = [
    ("a sanitizer's report", r"(ERROR|WARNING|SUMMARY): \w*Sanitizer|LeakSanitizer|: runtime error: "),
    ("a build", r"ninja: build stopped|^the build '.*' has failed before"),
    # mpirun, Open MPI's handler, Catch2, bash.
    ("a signal", r"exited on signal \d|\*\*\* Process received signal \*\*\*|due to a fatal error condition"),
    ("a signal", r"(^|: +\d+ +)(Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted)\b"),
    # tests/conformance, tests/unit/link: wrong data that a link has delivered.
    ("wrong data", r"\b(byte|element|row|frame|message) \d+( of \d+)? (is wrong|differs)|\bwrong (frame|contents)\b"),
    # tests/mpi/check.h and perf/apps/app/job.cpp: all complaints are about a result, except those of _MEASURED.
    ("a wrong result", r"^FAIL \S+ rank \d+ of \d+ \(seed \d+\): "),
]

# Such programs also complain about a duration or a number of times: "put blocked for 0.2 s", "served 14 times in 120
# calls".
_MEASURED = re.compile(r"\d (s|ms|us)\b|\d %|\btimes in |\bwhile ranks compute\b")

# These tests kill ranks themselves.
_KILLS = ["fault/*"]
_KILLED = re.compile(r"exited on signal 9 \(Killed\)")


def never_excused(run: Run) -> str:
    """Returns why the failure is never excused; empty if it may be."""
    name = run.test.name
    if any(fnmatchcase(name, pattern) for pattern in NEVER_BY_NAME):
        return "no test of this kind depends on load"
    if any(fnmatchcase(name, pattern) for pattern in NEVER_BUT_FOR_TIME) and not run.end.timed_out:
        return "no test of this kind depends on load"
    if run.end.left_running:
        return "LEFT RUNNING"
    if run.end.status < 0 or run.end.status >= 128:
        return f"exit code {run.end.status}: a signal"
    for line in _own_lines(run):
        for what, pattern in NEVER_BY_REASON:
            if re.search(pattern, line) and not _is_expected(name, what, line):
                return f"{what}: {line.strip()[:200]}"
    return ""


def _own_lines(run: Run) -> list[str]:
    """Returns the lines that the test itself has printed, without the stacks that follow when its time is up."""
    lines = run.lines()
    ends = [number for number, line in enumerate(lines) if line.startswith("TIME IS UP: ")]
    return lines[: ends[0]] if run.end.timed_out and ends else lines


def _is_expected(name: str, what: str, line: str) -> bool:
    if what == "a wrong result":
        return _MEASURED.search(line) is not None
    return any(fnmatchcase(name, pattern) for pattern in _KILLS) and _KILLED.search(line) is not None
