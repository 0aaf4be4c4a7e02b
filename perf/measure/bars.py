"""The bars: rows of perf/onesided and perf/collectives with a goal for each, against the best stock transport.

    points = read(Path("compare.jsonl"))
    print(table("trees", points, goals=GOALS["trees"]))

A ratio is LFC's time divided by the other's, of pairs; rates are inverted, so less than 1 is better in each row.
"""
import json
from dataclasses import dataclass, field

from . import counting, report
from .statistics import RATES, better, paired_ratio, spread

SUBJECTS = ("lfc", "neon")
NOT_STOCK = ("tuned-lfc",)


@dataclass(frozen=True)
class Goal:
    bench: str
    limit: float
    sizes: tuple = ()  # empty: all
    by: str = "stock"  # "stock": ratio by the best of stock; another transport's name; or "value": the median itself


@dataclass
class Results:
    values: dict = field(default_factory=dict)  # (bench, size, depth) -> {transport: [value per round]}
    units: dict = field(default_factory=dict)  # bench -> unit
    counts: dict = field(default_factory=dict)  # of LFC: "BENCH SIZE@DEPTH" -> {counter: value for one unit}
    proof: dict = field(default_factory=dict)  # transport -> the components that it took, or why it is absent
    busy: bool = False


SMALL = (8, 1 << 10, 8 << 10, 32 << 10)
LARGE = 256 << 10
MIXED = ("alltoall", "alltoallv", "reduce_scatter", "scan", "gather", "gatherv", "scatter", "scatterv", "allreduce", "allgather")
OSU = [Goal(name, 1.0) for name in ("put", "get", "sum_char", "put_bw", "get_bw", "sum_bw", "put_bibw", "get_bibw", "sum_bibw")]
PEAKS = [Goal(f"{name}_peak", 20, by="value") for name in ("put_burst", "put_burst_apart", "sum_burst")]  # MB
VECTOR = [Goal("notified_vector", 1.0)]
TREES = [
    goal
    for bench in ("bcast_barrier", "bcast")
    for goal in (Goal(bench, 0.85, SMALL), Goal(bench, 0.9, (60 << 10,)), Goal(bench, 1.0, (LARGE,)), Goal(bench, 1.0, by="tuned-lfc"))
]

# The tables in the order in which perf/bars runs them: the script that has each, and the goals.
GOALS = {
    "bursts-lab": ("onesided", [Goal("put_burst", 0.5), Goal("put_burst_apart", 0.5), Goal("sum_burst", 0.6), *PEAKS]),
    "bursts": ("onesided", [Goal("sum_burst", 0.1, (8,), "value"), *PEAKS]),
    "vector": ("onesided", VECTOR),
    "vector-lab": ("onesided", VECTOR),
    "osu": ("onesided", OSU),
    "osu-lab": ("onesided", OSU),
    "locks": ("onesided", [Goal("lock_put", 1.0), Goal("lock_sum", 1.0)]),
    "trees": ("collectives", [*TREES, *(Goal(name, 1.0) for name in ("gather", "scatter", "allgather"))]),
    "leaf": ("collectives", [Goal(name, 500, by="value") for name in ("leaf", "leaf_late")]),
    "blocks-lab": ("collectives", [Goal(i + name, 0.9) for name in (*MIXED, "bcast", "barrier") for i in ("", "i")]),
    "blocks": ("collectives", [Goal("alltoall", 0.8), Goal("alltoallv", 0.8)]),
    "overlap": ("collectives", [Goal("overlap_iallreduce_together_both_available", 80, by="value")]),
}


def read(text):
    """Returns the Results in the JSON lines of perf/compare or perf/apps/run."""
    results = Results()
    for line in text.splitlines():
        data = json.loads(line)
        if "values" in data:
            key = (data["bench"], data["size"], data["depth"])
            results.values.setdefault(key, {})[data["transport"]] = data["values"]
            results.units[data["bench"]] = data["unit"]
        elif "proof" in data:
            results.busy, results.proof = data["busy"], data["proof"]
            results.counts = next((of for name, of in data.get("counts", {}).items() if name in SUBJECTS), {})
    return results


def _ratio(unit, ours, theirs):
    pairs = [(a, b) for a, b in zip(ours, theirs) if a and b]
    if not pairs:
        return None
    ours, theirs = zip(*pairs)
    return paired_ratio(theirs, ours) if unit in RATES else paired_ratio(ours, theirs)


def best_of_stock(unit, of_point):
    """Returns the name of the stock transport with the best median, or None."""
    best = None
    for name in of_point:
        if name in SUBJECTS or name in NOT_STOCK:
            continue
        if best is None or better(unit, spread(of_point[name]).median, spread(of_point[best]).median):
            best = name
    return best


def _verdict(goal, unit, value):
    """Returns a text for a value: a ratio, where less is better, or a figure in `unit`."""
    more = goal.by == "value" and unit in RATES
    kept = value >= goal.limit if more else value <= goal.limit
    sign = ">=" if more else "<="
    missed = "" if kept else f" MISSED by {abs(value / goal.limit - 1) * 100:.0f} %"
    return f"{sign} {goal.limit:g}{missed or ' met'}" + ("" if goal.by in ("stock", "value") else f" of {goal.by}")


def _row(key, of_point, unit, goals):
    subject = next(name for name in SUBJECTS if name in of_point)
    ours, best = of_point[subject], best_of_stock(unit, of_point)
    s = spread(ours)
    found = {other: _ratio(unit, ours, of_point[other]) for other in (best, *NOT_STOCK) if other in of_point}
    verdicts = []
    for goal in goals:
        by = best if goal.by == "stock" else goal.by
        if goal.bench != key[0] or (goal.sizes and key[1] not in goal.sizes):
            continue
        value = s.median if by == "value" else found[by].median if found.get(by) else None
        verdicts.append("not measured" if value is None else _verdict(goal, unit, value))
    own = found.get("tuned-lfc")
    row = [key[0], f"{report.size_text(key[1])}@{key[2]}", f"{report.figure(s.median)} [{report.figure(s.p25)}..{report.figure(s.p75)}] {unit}"]
    row += [f"{best} {report.figure(spread(of_point[best]).median)}" if best else "-"]
    row += [report.ratio_text(found[best]) if found.get(best) else "-", report.ratio_text(own) if own else "-"]
    return [*row, str(s.count), "; ".join(verdicts) or "no goal"]


def table(name, results, goals):
    rows = [[name, "size@depth", "LFC", "best of stock", "time by it", "by tuned over LFC", "pairs", "goal"]]
    for key, of_point in results.values.items():
        if any(subject in of_point for subject in SUBJECTS):
            rows.append(_row(key, of_point, results.units[key[0]], goals))
    lines = [report.columns(rows), *(f"{transport}: {proof}" for transport, proof in results.proof.items())]
    if results.counts:
        lines.append(counting.table("LFC", results.counts))
    if results.busy:
        lines.insert(0, "FORCED ON A BUSY MACHINE, NOT A RESULT")
    return "\n".join(lines)
