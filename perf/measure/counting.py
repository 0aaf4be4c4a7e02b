"""LFC's counters for one unit of a benchmark: frames, bytes, copies, multicasts.

    counts = of_points(start, transport, bench_path, values)      # {"put 8@1": {"frames_sent": 2.0}, ...}
    print(table("lfc", counts))

Each point runs twice, with few units and with more. The difference of the counters, over all ranks, divided by that of
the units leaves out the job's start and end. Frames that the transport sends by a timer make it a fraction.
"""
from . import programs, report, transports

FEW, MORE = 1, 3  # units of a burst, or of another benchmark whose unit is long
OFTEN = 50  # as many times that for others
LONG = ("leaf", "leaf_late")
# Counters of the job as a whole, and of the helper threads.
LEFT_OUT = ("links", "memory", "thread_wakeups", "thread_turns", "thread_looks", "leave_timers", "leaves_served", "frames_received", "bytes_received", "messages_received")


def total(counters):
    """Returns {counter: sum over all ranks}."""
    sums = {}
    for of_rank in counters.values():
        for name, value in of_rank.items():
            if isinstance(value, int) and name not in LEFT_OUT:
                sums[name] = sums.get(name, 0) + value
    return sums


def per_unit(few, more, units):
    """Returns {counter: growth for each unit}; `units` is the difference of units. Counters that stay are left out."""
    return {name: (more[name] - few.get(name, 0)) / units for name in more if more[name] != few.get(name, 0)}


def _units(bench, depth):
    often = 1 if depth >= 1000 or bench in LONG else OFTEN
    return FEW * often, MORE * often


def _count(start, transport, bench_path, key, allocate):
    bench, size, depth = key
    sums, units = [], _units(bench, depth)
    for count in units:
        options = ["--units", str(count)] + (["--allocate"] if allocate else [])
        done = start(transport, programs.mpi_bench(bench_path, [f"{bench}:{size}@{depth}"], 0.001, 1, options))
        counters = transports.lfc_counters(done.err + "\n" + done.out)
        if done.code != 0 or not counters:
            return None
        sums.append(total(counters))
    return per_unit(*sums, units[1] - units[0])


def of_points(start, transport, bench_path, values, allocate=False):
    """Returns {"BENCH SIZE@DEPTH": {counter: value for one unit}, or None if the job failed} of the measured points."""
    measured = [key for key, of_point in values.items() if transport.name in of_point and not key[0].endswith("_peak")]
    return {name_of(key): _count(start, transport, bench_path, key, allocate) for key in measured}


def name_of(key):
    return f"{key[0]} {report.size_text(key[1])}@{key[2]}"


def table(name, counts):
    lines = [f"counted by {name} for one unit (a call, a round trip, a window or a burst), sum of all ranks"]
    for point, of_point in counts.items():
        shown = "not counted: the job failed" if of_point is None else "nothing"
        lines.append(f"  {point}: " + ("  ".join(f"{counter} {report.figure(n)}" for counter, n in (of_point or {}).items()) or shown))
    return "\n".join(lines)
