"""Tables and JSON lines of a sitting.

    print(table(values, units, ["lfc", "vader", "ucx"]))

Every ratio is the first transport's figure divided by another's, measured in the same round. A table has the median
[p25..p75] over the rounds. The ratio against the best of the others is marked with *.
"""
import json

from .statistics import RATES, better, loggp, paired_ratio, spread


def size_text(size):
    for factor, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{letter}"
    return str(size)


def figure(value):
    """Returns a number with three significant digits, without exponent."""
    if value != value or value in (float("inf"), float("-inf")):
        return "-"
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"


def ratio_text(ratio):
    return f"{ratio.median:.2f} [{ratio.p25:.2f}..{ratio.p75:.2f}]"


def columns(rows):
    """Returns rows of text, aligned: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def ratios(of_point, unit, names):
    """Returns {other: Spread} of the first transport against each other one at a point, and the best other's name."""
    first, others = names[0], [name for name in names[1:] if name in of_point]
    if first not in of_point or not others:
        return {}, None
    found = {}
    for other in others:
        pairs = [(ours, theirs) for ours, theirs in zip(of_point[first], of_point[other]) if theirs]
        if pairs:  # zeros have no ratio
            found[other] = paired_ratio(*zip(*pairs))
    best = others[0]
    for other in others[1:]:
        if better(unit, spread(of_point[other]).median, spread(of_point[best]).median):
            best = other
    return found, best


def benches_of(values):
    """Returns the benches in the order of measurement, each with its keys by size and depth."""
    grouped = {}
    for key in values:
        grouped.setdefault(key[0], []).append(key)
    return {bench: sorted(keys) for bench, keys in grouped.items()}


def table(values, units, names):
    blocks = []
    measured = {key: of_point for key, of_point in values.items() if any(name in of_point for name in names)}
    for bench, keys in benches_of(measured).items():
        unit = units[bench]
        several_depths = len({key[2] for key in keys}) > 1 and len({key[1] for key in keys}) == 1
        rows = [["depth" if several_depths else "size", *names, *(f"{names[0]}/{other}" for other in names[1:])]]
        for key in keys:
            of_point = values[key]
            found, best = ratios(of_point, unit, names)
            row = [str(key[2]) if several_depths else size_text(key[1])]
            row += [figure(spread(of_point[name]).median) if name in of_point else "-" for name in names]
            for other in names[1:]:
                mark = "*" if other == best and len(names) > 2 else " " if len(names) > 2 else ""
                row.append(ratio_text(found[other]) + mark if other in found else "-")
            rows.append(row)
        sense = "more is better" if unit in RATES else "less is better"
        size = f" of {size_text(keys[0][1])} B" if several_depths else ""
        blocks.append(f"{bench} [{unit}, {sense}]{size}\n{columns(rows)}")
    return "\n\n".join(blocks)


def loggp_of(values, name):
    """Returns {parameter: (Spread, unit)} of a transport, or {} if one of the needed figures is missing."""
    keys = {"o_s": ("o_s", 16), "o_r": ("o_r", 16), "half": ("latency", 16)}
    keys |= {"small": ("gap", 16), "middle": ("gap", 256 << 10), "large": ("gap", 1 << 20)}
    series = {}
    for what, (bench, size) in keys.items():
        for key, of_point in values.items():
            if key[:2] == (bench, size) and name in of_point:
                series[what] = of_point[name]
    if len(series) != len(keys):
        return {}
    parameters = {}
    for row in zip(*(series[what] for what in ("o_s", "o_r", "half", "small", "middle", "large"))):
        for parameter, (value, unit) in loggp(*row, bytes_middle=256 << 10, bytes_large=1 << 20).items():
            parameters.setdefault(parameter, ([], unit))[0].append(value)
    return {parameter: (spread(of_rounds), unit) for parameter, (of_rounds, unit) in parameters.items()}


def loggp_table(values, names):
    rows = [["transport", "o_s us", "o_r us", "L us", "g us", "G MB/s"]]
    for name in names:
        parameters = loggp_of(values, name)
        if parameters:
            rows.append([name, *(figure(parameters[p][0].median) for p in ("o_s", "o_r", "L", "g", "G"))])
    return "LogGP, 16 B\n" + columns(rows) if len(rows) > 1 else ""


def layer_table(values, units, layers):
    """Returns the latency layer by layer. `layers` is [(name shown, bench, transport)] from the bottom to the top."""

    def latency(bench, transport, size):
        found = [p[transport] for key, p in values.items() if key[:2] == (bench, size) and transport in p]
        return spread(found[0]).median if found else None

    sizes = sorted({key[1] for key in values if key[0] == layers[0][1]})
    common = [size for size in sizes if all(latency(bench, transport, size) for _, bench, transport in layers)]
    compared = 8 if 8 in common else common[0] if common else None
    last = f"over {layers[0][0]} at {size_text(compared)} B" if compared is not None else "over ground"
    rows = [["layer", *(f"{size_text(size)} B" for size in sizes), last]]
    for shown, bench, transport in layers:
        at = [latency(bench, transport, size) for size in sizes]
        row = [shown, *("-" if us is None else figure(us) for us in at)]
        ground = latency(*layers[0][1:], compared)
        rows.append([*row, f"{latency(bench, transport, compared) / ground:.2f}" if ground else "-"])
    return f"latency layer by layer [{units[layers[0][1]]}]\n{columns(rows)}"


def json_lines(values, units, names, header):
    lines = [json.dumps(header)]
    for bench, keys in benches_of(values).items():
        for key in keys:
            of_point = values[key]
            found, best = ratios(of_point, units[bench], names)
            for name in names:
                if name not in of_point:
                    continue
                s = spread(of_point[name])
                line = {"bench": bench, "size": key[1], "depth": key[2], "unit": units[bench], "transport": name}
                line |= {"median": s.median, "min": min(of_point[name]), "p25": s.p25, "p75": s.p75, "values": of_point[name]}
                if name in found:
                    r = found[name]
                    line["ratio"] = {"of": names[0], "median": r.median, "p25": r.p25, "p75": r.p75, "best": name == best}
                lines.append(json.dumps(line))
    for name in names:
        for parameter, (s, unit) in loggp_of(values, name).items():
            line = {"loggp": parameter, "transport": name, "unit": unit, "median": s.median, "p25": s.p25, "p75": s.p75}
            lines.append(json.dumps(line))
    return "\n".join(lines) + "\n"
