"""The phases of a start: goals, the parser of mpi_startup's output, the evidence of the path, and the table.

    points = parse(output)
    print(table({2: sitting.values, 16: other.values}))

The transports are called lfc, stock (LFC's folder is in the component path, but the job does not select LFC) and bare
(LFC's folder is not in the path). Ratios are of one round, so less than 1 means that the first one is faster.
"""
import json
import re

from . import report, transports
from .programs import Point, Unreadable, parse_mpi_bench
from .statistics import paired_ratio, spread

# The phases that mpi_startup prints, in its order, and the largest ratio of lfc to stock that each may have.
GOALS = {
    "init": 1.05, "first_message": 1.1, "first_collective": 1.1, "comm_dup": 1.1, "dup_barrier": 1.1, "comm_free": 1.1,
    "comm_split": 1.1, "split_barrier": 1.1, "win_create": 1.0, "win_allocate": 1.0, "win_allocate_shared": 1.0,
    "win_free": 1.1, "finalize": 1.05,
}  # fmt: skip
# Of stock to bare.
UNUSED_GOALS = {"init": 1.02, "finalize": 1.02}
ONE_NODE = ("win_allocate_shared",)  # phases that need all ranks on one node

# With these arguments LFC prints which communicators and windows it serves. Untimed runs only.
SHOW_SERVED = ("--mca", "coll_lfc_verbose", "1", "--mca", "osc_neon_verbose", "1")
SHOW_FRAMES = ("--mca", "btl_lfc_stats", "1")  # transports over LFC have it already


def parse(text):
    """Returns a Point for each phase; each rank prints its own time of MPI_Finalize, and the slowest counts."""
    slowest = {}
    for point in parse_mpi_bench(text):
        if point.key not in slowest or point.value > slowest[point.key].value:
            slowest[point.key] = point
    missing = [phase for phase in GOALS if phase not in ONE_NODE and (phase, 0, 1) not in slowest]
    if missing:
        raise Unreadable(f"mpi_startup has not printed {', '.join(missing)}")
    return [Point(p.bench, p.size, p.depth, max(p.value, 0.1), p.unit) for p in slowest.values()]  # no ratio has 0 below


def served(text, ranks):
    """Returns LFC's counts in a run with SHOW_SERVED: ranks with frames, communicators, windows; and mapped libraries."""
    frames = [counters["frames_sent"] for counters in transports.lfc_counters(text).values()]
    mapped = re.search(r'\{"mapped":.*\}', text)
    return {
        "ranks with frames": sum(1 for sent in frames if sent > 0),
        "communicators": len(re.findall(r"coll lfc: .*: served", text)) // ranks,
        "windows": len(re.findall(r"osc neon: window of", text)) // ranks,
        "mapped": " and ".join(json.loads(mapped.group(0))["mapped"]) if mapped else "",
    }


def problem(name, found, ranks):
    """Returns None if the evidence fits the transport: LFC serves all for `lfc`, and nothing for the others."""
    if name == "lfc":
        missing = [what for what, count in found.items() if what != "mapped" and count == 0]
        if found["ranks with frames"] < ranks:
            missing.append("frames of every rank")
        return f"LFC has not served: {', '.join(missing)}" if missing else None
    if name == "bare" and "liblfc" in found["mapped"]:
        return "LFC is installed where Open MPI finds it by itself"
    active = [what for what, count in found.items() if what != "mapped" and count != 0]
    return f"LFC has served: {', '.join(active)}" if active else None


def shown(found):
    return ", ".join(f"{what} {count or 'none'}" for what, count in found.items())


def _ratio(of_point, ours, theirs):
    return paired_ratio(of_point[ours], of_point[theirs]) if ours in of_point and theirs in of_point else None


def _verdict(ratio, limit):
    if ratio is None or limit is None:
        return "-"
    missed = f" missed by {(ratio.median / limit - 1) * 100:.0f} %" if ratio.median > limit else " met"
    return f"<= {limit:g}{missed}"


def _row(ranks, phase, of_point):
    row = [f"{phase} {ranks}"]
    for name in ("lfc", "stock", "bare"):
        s = spread(of_point[name]) if name in of_point else None
        row.append(f"{report.figure(s.median)} [{report.figure(s.p25)}..{report.figure(s.p75)}]" if s else "-")
    by_stock, by_bare = _ratio(of_point, "lfc", "stock"), _ratio(of_point, "stock", "bare")
    for ratio, limit in ((by_stock, GOALS.get(phase)), (by_bare, UNUSED_GOALS.get(phase))):
        row += [report.ratio_text(ratio) if ratio else "-", _verdict(ratio, limit)]
    return row


def table(of_ranks):
    """Returns the rows of all phases. `of_ranks`: {ranks: values of a Sitting}."""
    rows = [["phase, ranks", "lfc us", "stock us", "bare us", "lfc/stock", "goal", "stock/bare", "goal"]]
    for ranks, values in of_ranks.items():
        rows += [_row(ranks, key[0], of_point) for key, of_point in values.items()]
    return report.columns(rows)
