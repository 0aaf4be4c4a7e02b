"""Named tables: benchmarks and transports for perf/compare.

    TABLES = {"here": Table(["put:8"], ["lfc", "vader"]), "lab": Table(["put:8"], ["lfc", "tcp"], ["--lab"])}
    sys.exit(tables.main(TABLES, __doc__, sys.argv[1:]))
"""
import subprocess
from dataclasses import dataclass, field

from . import build


@dataclass(frozen=True)
class Table:
    benches: list
    transports: list
    options: list = field(default_factory=list)  # for perf/compare


def main(named, usage, words):
    """Runs the table that the first word names; passes the other words to perf/compare. Returns an exit code."""
    if not words or words[0] not in named:
        print(usage)
        return 0 if words[:1] == ["--help"] else 2
    table = named[words[0]]
    command = [build.TREE / "perf" / "compare", *table.options, *words[1:]]
    for bench in table.benches:
        command += ["--bench", bench]
    return subprocess.run([*command, *table.transports], check=False).returncode
