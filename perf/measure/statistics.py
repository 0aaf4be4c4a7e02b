"""Figures of repeated and of paired measurements.

    paired_ratio([1.0, 1.1], [2.0, 2.2]).median     # 0.5
"""
from dataclasses import dataclass

# More is better for these units; less is better for all others (us).
RATES = ("MB/s", "M/s", "%")


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of some values."""

    median: float
    p25: float
    p75: float
    count: int


def quantile(values, q):
    """Returns the q-quantile (0..1) by linear interpolation; values in any order, at least one."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def spread(values):
    return Spread(quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75), len(values))


def paired_ratio(ours, theirs):
    """Returns the Spread of ours[i] / theirs[i]. Both were measured in one round, so common disturbances cancel out."""
    if len(ours) != len(theirs):
        raise ValueError("pairs need as many values on both sides")
    return spread([a / b for a, b in zip(ours, theirs)])


def better(unit, a, b):
    """Returns whether a is better than b."""
    return a > b if unit in RATES else a < b


def loggp(o_s, o_r, half_round_trip, gap_small, gap_middle, gap_large, bytes_middle, bytes_large):
    """Returns the LogGP parameters of one sitting: {name: (value, unit)}. Times are in us."""
    per_byte = (gap_large - gap_middle) / (bytes_large - bytes_middle)
    return {
        "o_s": (o_s, "us"),
        "o_r": (o_r, "us"),
        # L has neither sender's nor receiver's work: it is the wire, and work of other processors.
        "L": (half_round_trip - o_s - o_r, "us"),
        "g": (gap_small, "us"),
        "G": (1 / per_byte if per_byte > 0 else float("inf"), "MB/s"),
    }
