"""The tests of tests/suite.table, as rows. The top of the table explains its columns.

    for test in table.read(tree / "tests/suite.table", tree):
        print(test.name, test.level, test.command)
"""

import dataclasses
import itertools
import re
import shlex
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

WAITS = 0.5  # processors that a test that mostly waits keeps busy
_CORES = re.compile(r"\d+|ranks|waits|build|all")
LEVELS = ("quick", "full", "nightly", "ompi5", "ompi5-all")


class Wrong(Exception):
    """The table cannot be read; the text has the place."""


@dataclass(frozen=True)
class Test:
    """A test, and how to run it: the kind and its arguments."""

    name: str
    level: str
    seconds: int
    cores: float  # processors that it keeps busy
    command: tuple[str, ...]
    alone: bool = False  # it judges time, so no other test runs beside it
    builds: bool = False  # it compiles with all processors
    needs: tuple[str, ...] = ()  # the names of builds

    @property
    def has_cases(self) -> bool:
        """Whether it is a Catch2 program."""
        return self.command[0] in ("catch", "catch_long")


def read(path: Path, tree: Path) -> list[Test]:
    """Returns all tests of a table, in its order. File patterns in it are relative to `tree`."""
    rows, needs = list(_rows(path)), list(_needs(path))
    named = {test.name for _, row in rows if not _has_pattern(row) for test in _tests_of(row, tree)}
    tests: dict[str, Test] = {}
    for where, row in rows:
        for column, cell in _chosen(row).items():
            if not _values(cell, tree):
                raise Wrong(f"{where}: {column} finds no file")
        for test in _tests_of(row, tree):
            if _has_pattern(row) and test.name in named:
                continue  # it has a row of its own
            if test.level not in LEVELS:
                raise Wrong(f"{where}: '{test.level}' is not a level")
            if test.name in tests:
                raise Wrong(f"{where}: there are two tests '{test.name}'")
            tests[test.name] = dataclasses.replace(test, needs=_needed(test.name, needs))
    for where, builds, _ in needs:
        if unknown := set(builds) - set(tests):
            raise Wrong(f"{where}: there is no test '{unknown.pop()}'")
    return list(tests.values())


def _rows(path: Path):
    """Yields each row with its place in the table; columns in order."""
    columns: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#") or words[0] == "needs":
            continue
        if words[0] == "level":
            columns = words
            continue
        last = columns[-1:] == ["arguments"]
        cells = line.split(maxsplit=len(columns) - 1) if last else words
        if not len(columns) - last <= len(cells) <= len(columns):
            raise Wrong(f"{path}:{number}: not the columns {' '.join(columns)}")
        row = dict(zip(columns, cells, strict=False))
        if not row["seconds"].isdecimal() or not _CORES.fullmatch(row["cores"]) or not row.keys() >= {row["cores"]} & {"ranks"}:
            raise Wrong(f"{path}:{number}: seconds are a number, cores a number, ranks, waits, build or all")
        yield f"{path}:{number}", row


def _needs(path: Path):
    """Yields each line `needs BUILDS PATTERN...` with its place: the builds, and the patterns of names."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if words[:1] == ["needs"]:
            if len(words) < 3:
                raise Wrong(f"{path}:{number}: not 'needs', builds and names of tests")
            yield f"{path}:{number}", () if words[1] == "-" else tuple(words[1].split("|")), words[2:]


def _needed(name: str, needs: list) -> tuple[str, ...]:
    """Returns the builds of the first line that has a pattern for this test."""
    for _, builds, patterns in needs:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return tuple(build for build in builds if build != name)
    return ()


def _chosen(row: dict[str, str]) -> dict[str, str]:
    """Returns the columns whose values are combined: those between `kind` and `arguments`."""
    columns = list(row)
    return {column: row[column] for column in columns[columns.index("kind") + 1 :] if column != "arguments"}


def _has_pattern(row: dict[str, str]) -> bool:
    return any("*" in cell for cell in _chosen(row).values())


def _values(cell: str, tree: Path) -> list[str]:
    if "*" in cell:
        return sorted(file.stem for file in tree.glob(cell))
    return cell.split("|")


def _tests_of(row: dict[str, str], tree: Path):
    chosen = _chosen(row)
    for values in itertools.product(*(_values(cell, tree) for cell in chosen.values())):
        name = row["name"]
        named = dict(zip(chosen, values, strict=True))
        for column, value in named.items():
            name = name.replace(f"{{{column}}}", value)
        command = (row["kind"], *values, *shlex.split(row.get("arguments", "")))
        cores = {"ranks": named.get("ranks"), "waits": WAITS, "all": 1, "build": 1}.get(row["cores"], row["cores"])
        yield Test(
            name, row["level"], int(row["seconds"]), float(cores), command, row["cores"] == "all", row["cores"] == "build"
        )
