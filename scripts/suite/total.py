"""Total: adds up the parts of a run (--part K/N), which may run one after the other, or on several machines.

    part = Part(revision="3fa9c1", passed=120, failed=["mpi/ring.2"], skipped=4, seconds=5120)
    write(logs, (2, 5), part)            # logs/part-2-of-5.json
    print(summary(logs, 5, "3fa9c1"))    # of all parts of 5 in that folder

Files of parts that ran elsewhere can be copied into the folder. Those of other revisions are not added.
"""

import dataclasses
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    revision: str  # of the sources
    passed: int
    failed: list[str]  # names
    skipped: int
    seconds: int


def revision_of(tree: Path) -> str:
    """Returns the commit, with `+` behind it if files differ from it; `unknown` without git."""
    command = ["git", "-C", str(tree), "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return said.stdout.strip() or "unknown"


def write(logs: Path, number: tuple[int, int], part: Part) -> None:
    _path(logs, *number).write_text(json.dumps(dataclasses.asdict(part), indent=1) + "\n")


def summary(logs: Path, parts: int, revision: str) -> str:
    """Returns a line with the sums of the parts of this revision, and the parts that are missing."""
    there: dict[int, Part] = {}
    for number in range(1, parts + 1):
        path = _path(logs, number, parts)
        if path.exists() and (part := Part(**json.loads(path.read_text()))).revision == revision:
            there[number] = part
    failed = [name for part in there.values() for name in part.failed]
    names = f" ({', '.join(failed)})" if failed else ""
    missing = [number for number in range(1, parts + 1) if number not in there]
    return (
        f"parts {_listed(there)} of {parts}: {sum(part.passed for part in there.values())} passed, "
        f"{len(failed)} failed{names}, {sum(part.skipped for part in there.values())} skipped, "
        f"{sum(part.seconds for part in there.values())} s; not run: {_listed(missing) or 'none'}"
    )


def _path(logs: Path, number: int, parts: int) -> Path:
    return logs / f"part-{number}-of-{parts}.json"


def _listed(numbers) -> str:
    return ", ".join(map(str, numbers))
