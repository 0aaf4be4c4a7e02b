"""The application kernels of perf/apps: their names, a parser of their output, and tables of their figures.

    program, against = application("ca", path, ["--percent", "20"])
    points = program.parse(output)        # [Point(bench="ca_isend", size=4104, ...), ...]; fills `against` on the way
    print(table(values, units, ["lfc", "vader"]))
    print(ways(values, against, ["lfc", "vader"]))
"""
import json

from . import report
from .programs import Point, Program, Unreadable
from .statistics import RATES, paired_ratio, spread

NAMES = ("asp", "qr", "leq", "sor", "em3d", "tomcatv", "gauss", "matmult", "nbody", "md", "eigen", "reqrep", "ca", "skew", "pipeline", "slb", "overlap")


def chosen(word):
    """Returns the kernels that a text such as "asp,qr" or "all" names; None if one of them does not exist."""
    names = list(NAMES) if word == "all" else word.split(",")
    return names if all(name in NAMES for name in names) else None


def parse(name, text, against):
    """Returns the points that a kernel has printed. Adds {(bench, size): [benches of the same rounds]} to `against`."""
    lines = [line for line in text.splitlines() if line.startswith('{"bench"')]
    if "ok" not in text.splitlines():
        raise Unreadable(f"{name} has not said that its result is right")
    points = []
    for line in lines:
        data = json.loads(line)
        if "absent" in data:
            continue
        points.append(Point(data["bench"], data["size"], data["depth"], data["median"], data["unit"]))
        if data.get("against"):
            against[(data["bench"], data["size"])] = data["against"]
    if not points:
        raise Unreadable(f"{name} printed no measurement")
    return points


def application(name, path, options):
    against = {}
    return Program(name, [path, *options], lambda text: parse(name, text, against)), against


def points_text(ours, theirs):
    """Returns the comparison of two figures; shares may be zero, so they are subtracted and not divided."""
    s = spread([a - b for a, b in zip(ours, theirs)])
    return f"{s.median:+.0f} [{s.p25:+.0f}..{s.p75:+.0f}] points"


def table(values, units, names):
    """Returns a line for each bench and size: the transports' medians, and the first one's figure by the others'.

    Shares are subtracted and not divided.
    """
    others = names[1:]
    rows = [["", "size", "unit", *names, *(f"{names[0]}/{other}" for other in others)]]
    for bench, keys in report.benches_of(values).items():
        for key in keys:
            of_point = values[key]
            found, _ = report.ratios(of_point, units[bench], names)
            unit = units[bench] + (" (more is better)" if units[bench] in RATES else "")
            row = [bench, str(key[1]), unit]
            row += [report.figure(spread(of_point[name]).median) if name in of_point else "-" for name in names]
            for other in others:
                if units[bench] == "%" and names[0] in of_point and other in of_point:
                    row.append(points_text(of_point[names[0]], of_point[other]))
                else:
                    row.append(report.ratio_text(found[other]) if other in found else "-")
            rows.append(row)
    return "transports compared\n" + report.columns(rows)


def ways(values, against, names):
    """Returns a line for each pair of benches of a program: the first figure by the other, over each transport."""
    rows = [["", "size", *names]]
    for (bench, size), others in against.items():
        for other in others:
            if other == bench:
                continue
            row = [f"{bench} / {other}", str(size)]
            for name in names:
                ours = values.get((bench, size, 1), {}).get(name, [])
                theirs = values.get((other, size, 1), {}).get(name, [])
                pairs = [(a, b) for a, b in zip(ours, theirs) if b]
                row.append(report.ratio_text(paired_ratio(*zip(*pairs))) if pairs else "-")
            if set(row[2:]) != {"-"}:
                rows.append(row)
    return "ways compared, over each transport\n" + report.columns(rows) if len(rows) > 1 else ""
