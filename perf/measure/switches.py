"""Finds the sizes at which a transport changes its protocol, and the ratio of the step.

    size = last_eager(frames_of, 32768, 65536)     # bytes of the largest eager message
    print(table(values, [("eager", size)], "lfc"))

A switch at S is measured at S - 1, S and S + 1 bytes. Its step is the figure at S + 1 divided by the one at S - 1 of
the same round.
"""
from .report import columns, figure, ratio_text, size_text
from .statistics import RATES, paired_ratio, spread


def last_eager(frames_of, low, high):
    """Returns the largest size of a message that takes as few frames as one of `low` bytes; None if one of `high` does.

    `frames_of(size)` is the number of frames for a fixed number of messages, which grows at the switch.
    """
    eager = frames_of(low)

    def goes_eagerly(size):
        return frames_of(size) < 1.25 * eager

    if goes_eagerly(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if goes_eagerly(middle):
            low = middle
        else:
            high = middle
    return low


def benches(sizes):
    around = ",".join(str(at) for size in sizes for at in (size - 1, size, size + 1))
    return [f"latency:{around}", f"bw:{around}"]


def _values_at(values, bench, size, name):
    """Returns the values of a bench and size at any depth, because these benches have only one."""
    return next((of_point[name] for key, of_point in values.items() if key[:2] == (bench, size) and name in of_point), None)


def table(values, units, switches, name):
    """Returns the table of steps. `switches` is [(name, size)]."""
    rows = [["switch", "bench", "-1", "exact", "+1", "step"]]
    for what, size in switches:
        for bench in ("latency", "bw"):
            series = [_values_at(values, bench, at, name) for at in (size - 1, size, size + 1)]
            if not all(series):
                continue
            step = paired_ratio(series[2], series[0])
            shown = [figure(spread(one).median) for one in series]
            sense = "more" if units[bench] in RATES else "less"
            rows.append([f"{what} {size_text(size)}", f"{bench} [{units[bench]}, {sense} is better]", *shown, ratio_text(step)])
    return f"steps at the protocol switches of {name}\n{columns(rows)}" if len(rows) > 1 else ""
