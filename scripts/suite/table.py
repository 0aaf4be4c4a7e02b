"""The tests of tests/suite.table, as rows. The top of the table explains its columns.

    for test in table.read(tree / "tests/suite.table", tree):
        print(test.name, test.level, test.command)
"""

import itertools
import shlex
from dataclasses import dataclass
from pathlib import Path

LEVELS = ("quick", "full", "nightly", "ompi5", "ompi5-all")


class Wrong(Exception):
    """The table cannot be read; the text has the place."""


@dataclass(frozen=True)
class Test:
    """A test, and how to run it: the kind and its arguments."""

    name: str
    level: str
    seconds: int
    one_core: bool
    command: tuple[str, ...]

    @property
    def has_cases(self) -> bool:
        """Whether it is a Catch2 program."""
        return self.command[0] in ("catch", "catch_long")


def read(path: Path, tree: Path) -> list[Test]:
    """Returns all tests of a table, in its order. File patterns in it are relative to `tree`."""
    rows = list(_rows(path))
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
            tests[test.name] = test
    return list(tests.values())


def _rows(path: Path):
    """Yields each row with its place in the table; columns in order."""
    columns: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "level":
            columns = words
            continue
        last = columns[-1:] == ["arguments"]
        cells = line.split(maxsplit=len(columns) - 1) if last else words
        if not len(columns) - last <= len(cells) <= len(columns):
            raise Wrong(f"{path}:{number}: not the columns {' '.join(columns)}")
        row = dict(zip(columns, cells, strict=False))
        if not row["seconds"].isdecimal() or row["cores"] not in ("1", "all"):
            raise Wrong(f"{path}:{number}: seconds are a number, cores 1 or all")
        yield f"{path}:{number}", row


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
        for column, value in zip(chosen, values, strict=True):
            name = name.replace(f"{{{column}}}", value)
        command = (row["kind"], *values, *shlex.split(row.get("arguments", "")))
        yield Test(name, row["level"], int(row["seconds"]), row["cores"] == "1", command)
