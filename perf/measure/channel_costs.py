"""The cost of a message with and without a channel, as perf/tailor --measure found it.

    costs = Costs({("ordinary", 1, 8): (0.50, 0.40), ...})     # (kind, number in flight, bytes): us without, us with
    costs.matched("ordinary", 1, 100)                          # us without a channel
    costs.gain("ordinary", 1, 100)                             # us that a channel saves; < 0: it costs more
    parse(text(costs))

Kinds are `ordinary` and `persistent`. Times between two measured sizes are on the straight line between them. A
number in flight that was not measured counts as the next higher one, or as the highest.
"""
import re
from bisect import bisect_left

VERSION = 2
SIZES = (8, 64, 256, 1024, 4096)
IN_FLIGHT = (1, 2, 4, 8, 32, 64)  # messages each way at a time
BENCHES = {"ordinary": "halo", "persistent": "halo_started"}  # of mpi_bench


class Unreadable(ValueError):
    """The file has no costs, or not all."""


class Costs:
    def __init__(self, points):
        self.points = points
        wanted = {(kind, flight, size) for kind in BENCHES for flight in IN_FLIGHT for size in SIZES}
        if set(points) != wanted:
            raise Unreadable("these are no costs, or not all")

    def _times(self, kind, flight, size):
        flight = IN_FLIGHT[min(bisect_left(IN_FLIGHT, flight), len(IN_FLIGHT) - 1)]
        after = min(max(bisect_left(SIZES, size), 1), len(SIZES) - 1)
        low, high = SIZES[after - 1], SIZES[after]
        part = (max(size, SIZES[0]) - low) / (high - low)  # more than 1 beyond the last size
        return [a + part * (b - a) for a, b in zip(self.points[kind, flight, low], self.points[kind, flight, high])]

    def matched(self, kind, flight, size):
        return max(0.0, self._times(kind, flight, size)[0])

    def gain(self, kind, flight, size):
        matched, channel = self._times(kind, flight, size)
        return matched - channel


def text(costs):
    lines = [f"lfc-costs version={VERSION}"]
    for (kind, flight, size), (matched, channel) in sorted(costs.points.items()):
        lines.append(f"{kind} in_flight={flight} bytes={size} matched={matched:.4f} channel={channel:.4f}")
    return "\n".join(lines) + "\n"


def parse(lines):
    if not lines.startswith(f"lfc-costs version={VERSION}\n"):
        raise Unreadable(f"these are no costs of version {VERSION}: measure again")
    found = re.findall(r"^(\w+) in_flight=(\d+) bytes=(\d+) matched=([\d.]+) channel=([\d.]+)$", lines, re.MULTILINE)
    return Costs({(kind, int(flight), int(size)): (float(matched), float(channel)) for kind, flight, size, matched, channel in found})
