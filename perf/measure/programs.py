"""The benchmark programs, and parsers of their output.

    program = mpi_bench(path, ["latency:8"], seconds=0.1)
    points = program.parse(output)     # [Point(bench="latency", size=8, depth=1, value=0.15, unit="us"), ...]

mpi_bench belongs to this tree. OSU, IMB and NetPIPE are run if the user has them.
"""
import json
import os
import re
from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Point:
    bench: str
    size: int
    depth: int  # messages in flight, 1 if that does not vary
    value: float
    unit: str

    @property
    def key(self):
        return (self.bench, self.size, self.depth)


@dataclass(frozen=True)
class Program:
    name: str
    command: list
    parse: Callable[[str], list]
    under_mpi: bool = True  # started by mpirun


class Unreadable(ValueError):
    """The output of a program lacks an expected value."""


# --- mpi_bench ---


def parse_mpi_bench(text):
    points = []
    for line in text.splitlines():
        if not line.startswith('{"bench"'):
            continue
        data = json.loads(line)
        if "absent" not in data:
            points.append(Point(data["bench"], data["size"], data["depth"], data["median"], data["unit"]))
    if not points:
        raise Unreadable("mpi_bench printed no measurement")
    return points


def mpi_bench(path, benches, seconds, repeats, options=()):
    command = [path, "--time", f"{seconds:.4g}", "--repeats", str(repeats), *options]
    for bench in benches:
        command += ["--bench", bench]
    return Program(f"mpi_bench {benches[0]}" if len(benches) == 1 else "mpi_bench", command, parse_mpi_bench)


def layers(path):
    """Returns perf/layers, which prints the same lines as mpi_bench but starts its processes itself."""
    return Program("layers", [path], parse_mpi_bench, under_mpi=False)


def points_in(spec):
    """Returns how many points NAME[:SIZES][@DEPTHS] has; without SIZES, a guess."""
    head, _, depths = spec.partition("@")
    _, colon, sizes = head.partition(":")
    return (_entries(sizes) if colon else 7) * (_entries(depths) if depths else 1)


def _entries(text):
    count = 0
    for part in text.split(","):
        first, dash, last = part.partition("-")
        count += _bytes(last).bit_length() - _bytes(first).bit_length() + 1 if dash else 1
    return count


def _bytes(text):
    factor = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
    return int(text.rstrip("KM")) * factor


# --- OSU micro-benchmarks: lines "SIZE VALUE [...]" under a heading that names the unit ---

_OSU = {
    # executable: (unit, column of the value, options)
    "osu_latency": ("us", 1, []),
    "osu_multi_lat": ("us", 1, []),
    "osu_bw": ("MB/s", 1, []),
    "osu_bibw": ("MB/s", 1, []),
    "osu_mbw_mr": ("MB/s", 1, []),
    "osu_put_latency": ("us", 1, ["-w", "create", "-s", "flush"]),
    "osu_get_latency": ("us", 1, ["-w", "create", "-s", "flush"]),
    "osu_fop_latency": ("us", 1, ["-w", "create", "-s", "flush"]),
    "osu_acc_latency": ("us", 1, ["-w", "create", "-s", "flush"]),
    "osu_put_bw": ("MB/s", 1, ["-w", "create", "-s", "flush"]),
    "osu_get_bw": ("MB/s", 1, ["-w", "create", "-s", "flush"]),
    "osu_put_bibw": ("MB/s", 1, ["-w", "create", "-s", "pscw"]),
    "osu_allreduce": ("us", 1, []),
    "osu_bcast": ("us", 1, []),
}


def parse_osu(name, text):
    unit, column, _ = _OSU[name]
    points = []
    for line in text.splitlines():
        words = line.split()
        if len(words) > column and words[0].isdigit() and _is_number(words[column]):
            points.append(Point(name, int(words[0]), 1, float(words[column]), unit))
    if not points:
        raise Unreadable(f"{name} printed no measurement")
    return points


def osu(directory, largest):
    """Returns every known OSU program below `directory`."""
    found = []
    for folder, _, files in sorted(os.walk(directory)):
        for name in sorted(set(files) & _OSU.keys()):
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK):
                single = name == "osu_fop_latency"  # it has one size
                sizes = [] if single else ["-m", f"1:{largest}" if name != "osu_allreduce" else f"4:{largest}"]
                command = [path, *_OSU[name][2], *sizes]
                found.append(Program(name, command, lambda text, name=name: parse_osu(name, text)))
    if not found:
        raise Unreadable(f"no OSU program below {directory}")
    return found


# --- Intel MPI benchmarks: "# Benchmarking NAME", a heading with t[usec] or t_avg[usec], Mbytes/sec, then lines ---


def parse_imb(text):
    points, name, columns = [], None, []
    for line in text.splitlines():
        heading = re.match(r"# Benchmarking (\w+)", line)
        if heading:
            name, columns = heading.group(1), []
        elif "#bytes" in line and "#repetitions" in line:
            columns = line.split()
        elif name and columns:
            words = line.split()
            if len(words) != len(columns) or not all(_is_number(word) for word in words):
                continue
            row = dict(zip(columns, words))
            size = int(row["#bytes"])
            for column, unit in (("t[usec]", "us"), ("t_avg[usec]", "us"), ("Mbytes/sec", "MB/s")):
                if column in row and float(row[column]) > 0:
                    points.append(Point(f"imb_{name}", size, 1, float(row[column]), unit))
    if not points:
        raise Unreadable("IMB printed no measurement")
    # A benchmark prints time and rate, which are two benches here.
    return [p if p.unit == "us" else Point(p.bench + "_bw", p.size, p.depth, p.value, p.unit) for p in points]


def imb(binary, largest):
    log = max(largest.bit_length() - 1, 1)
    return Program("imb", [binary, "-msglog", f"0:{log}", "PingPong", "Sendrecv", "Exchange", "Allreduce"], parse_imb)


# --- NetPIPE: "  0:       1 bytes  20000 times -->     8.60 Mbps in       0.89 usec" ---

_NETPIPE = re.compile(r"^ *\d+: +(\d+) bytes +\d+ times --> +([\d.]+) Mbps in +([\d.]+) usec", re.MULTILINE)


def parse_netpipe(text):
    points = []
    for size, mbps, usec in _NETPIPE.findall(text):
        points.append(Point("netpipe", int(size), 1, float(usec), "us"))
        points.append(Point("netpipe_bw", int(size), 1, float(mbps) / 8, "MB/s"))
    if not points:
        raise Unreadable("NetPIPE printed no measurement")
    return points


def netpipe(binary, largest):
    # Without perturbation it has powers of two only. Its result file is not used.
    return Program("netpipe", [binary, "-p", "0", "-o", "/dev/null", "-u", str(largest)], parse_netpipe)


def _is_number(word):
    try:
        float(word)
        return True
    except ValueError:
        return False
