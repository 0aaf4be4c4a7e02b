"""Line plots as SVG: one curve per transport with its spread as a band.

    svg = line_plot("latency", "bytes", "us", {"lfc": [(8, 0.14, 0.15, 0.17), ...]}, log_y=True)

A point is (x, low, middle, high); x is spaced by its logarithm.
"""
import math
from xml.sax.saxutils import escape

from .report import figure, size_text

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 130, 40, 50
# People with impaired colour vision can also distinguish these colours (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def _log(value):
    return math.log2(max(value, 1e-12))


def _ticks(low, high, log):
    """Returns the values at which the y axis is marked, within low..high."""
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [m * 10.0**p for p in powers for m in (1, 2, 5)]
    else:
        raw = (high - low) / 6 or 1.0
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
        ticks = [n * step for n in range(math.floor(low / step), math.ceil(high / step) + 1)]
    return [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]


def line_plot(title, x_label, y_label, curves, log_y):
    points = [point for curve in curves.values() for point in curve]
    if not points:
        raise ValueError("nothing to plot")
    xs = sorted({point[0] for point in points})
    x_low, x_high = _log(max(xs[0], 0.5)), _log(xs[-1])
    high = max(point[3] for point in points) * (1.3 if log_y else 1.05)
    low = max(min(point[1] for point in points) / 1.3, high / 1e9) if log_y else 0.0
    if high <= low:
        high = low + 1

    def place_x(x):
        at = (_log(max(x, 0.5)) - x_low) / (x_high - x_low) if x_high > x_low else 0.5
        return LEFT + at * (WIDTH - LEFT - RIGHT)

    def place_y(y):
        if log_y:
            at = (_log(max(y, low)) - _log(low)) / (_log(high) - _log(low))
        else:
            at = (y - low) / (high - low)
        return HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM)

    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(16 {(TOP + floor) / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>',
    ]
    for tick in _ticks(low, high, log_y):
        y = place_y(tick)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>')
        label = figure(tick)
        label = label.rstrip("0").rstrip(".") if "." in label else label
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    last = -math.inf
    for x in xs:
        if place_x(x) - last < 34:
            continue  # no room for its label
        last = place_x(x)
        out.append(f'<line x1="{last:.1f}" y1="{floor}" x2="{last:.1f}" y2="{floor + 5}" stroke="#333"/>')
        out.append(f'<text x="{last:.1f}" y="{floor + 19}" text-anchor="middle">{size_text(x)}</text>')
    out.append(f'<path d="M{LEFT} {TOP} V{floor} H{right}" fill="none" stroke="#333"/>')
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        ordered = sorted(curve)
        upper = [f"{place_x(x):.1f},{place_y(top):.1f}" for x, _, _, top in ordered]
        lower = [f"{place_x(x):.1f},{place_y(bottom):.1f}" for x, bottom, _, _ in reversed(ordered)]
        middle = [f"{place_x(x):.1f},{place_y(y):.1f}" for x, _, y, _ in ordered]
        out.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.2"/>')
        out.append(f'<polyline points="{" ".join(middle)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for at in middle:
            x, y = at.split(",")
            out.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>')
        y = TOP + 10 + 20 * number
        out.append(f'<line x1="{right + 12}" y1="{y}" x2="{right + 36}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{right + 42}" y="{y + 4}">{escape(name)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
