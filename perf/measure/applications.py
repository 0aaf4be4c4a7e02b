"""The application kernels of perf/apps: which there are, how to read them, and tables of them.

    program, against = application("ca", path, ["--percent", "20"])
    points = program.parse(output)        # [Point(bench="ca_isend", size=4104, ...), ...]; fills `against` on the way
    print(table(values, units, ["lfc", "vader"]))
    print(ways(values, against, ["lfc", "vader"]))
"""
import json

from . import report
from .programs import Point, Program, Unreadable
from .statistics import RATES, paired_ratio, spread

NAMES = ("asp", "qr", "leq", "sor", "em3d", "tomcatv", "gauss", "matmult", "nbody", "md", "eigen", "reqrep", "ca", "skew", "slb", "overlap")


def chosen(word):
    """The kernels that "asp,qr" or "all" names; None if it names something else."""
    names = list(NAMES) if word == "all" else word.split(",")
    return names if all(name in NAMES for name in names) else None


def parse(name, text, against):
    """The points that a kernel has printed. `against` learns {(bench, size): [benches measured in the same rounds]}."""
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
    """Shares that may be zero are subtracted and not divided."""
    s = spread([a - b for a, b in zip(ours, theirs)])
    return f"{s.median:+.0f} [{s.p25:+.0f}..{s.p75:+.0f}] points"


def table(values, units, names):
    """A line for each bench and size: the transports' medians, and the first one's figure by the others' (shares: less theirs)."""
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
    """A line for each pair of benches of one program: the first one's figure by the other's, over each transport."""
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
