"""Plots as SVG: lines over logarithmic axes, with marks, ticks and a legend."""

import math
from dataclasses import dataclass
from html import escape

from results import number

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 92, 58
# Told apart also by those who don't see red and green as different.
COLOURS = ("#0b62a8", "#d1620a", "#2c8a57", "#9b4f96")
INK, FAINT = "#222222", "#dddddd"


@dataclass
class Line:
    """One thing that was measured: points are (x, low, middle, high)."""
    name: str
    points: list


class Axis:
    """A logarithmic scale from the least to the greatest value, onto pixels."""

    def __init__(self, values, start, end):
        self.low, self.high = math.log(min(values)), math.log(max(values))
        margin = max(0.05 * (self.high - self.low), 0.05)
        self.low, self.high = self.low - margin, self.high + margin
        self.start, self.end = start, end

    def place(self, value):
        share = (math.log(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self):
        """Powers of ten; with their multiples where fewer than four of those lie on the axis."""
        powers = range(math.floor(self.low / math.log(10)), math.ceil(self.high / math.log(10)) + 1)
        for steps in ((1,), (1, 3), (1, 2, 5), range(1, 10)):
            ticks = [step * 10.0**power for power in powers for step in steps]
            ticks = [tick for tick in ticks if self.low <= math.log(tick) <= self.high]
            if len(ticks) >= 4:
                break
        return ticks


def svg(title, x_label, y_label, lines, x_ticks):
    """The text of an SVG file. `x_ticks` are the measured numbers on the x axis."""
    points = [point for line in lines for point in line.points]
    x_axis = Axis([x for x, *_ in points], LEFT, WIDTH - RIGHT)
    y_axis = Axis([y for _, *ys in points for y in ys], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, 28, title, 'font-size="17" font-weight="bold"'),
        *grid(x_axis, y_axis, x_ticks),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_label, 'text-anchor="middle"'),
        text(0, 0, y_label, 'text-anchor="middle" transform="translate(20 '
             f'{(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'),
        *legend(lines),
    ]
    for line, colour in zip(lines, COLOURS):
        parts += curve(line, colour, x_axis, y_axis)
    return "\n".join([*parts, "</svg>", ""])


def text(x, y, words, attributes=""):
    place = f'x="{x}" y="{y}" ' if "transform" not in attributes else ""
    return f"<text {place}{attributes}>{escape(words)}</text>"


def grid(x_axis, y_axis, x_ticks):
    for tick in y_axis.ticks():
        y = y_axis.place(tick)
        yield f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{FAINT}"/>'
        yield text(LEFT - 8, y + 4, short(tick), 'text-anchor="end"')
    for tick in x_ticks:
        x = x_axis.place(tick)
        yield f'<path d="M{x} {TOP}V{HEIGHT - BOTTOM}" stroke="{FAINT}"/>'
        yield text(x, HEIGHT - BOTTOM + 20, short(tick), 'text-anchor="middle"')
    yield (f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" '
           f'stroke="{INK}" fill="none"/>')


def short(tick):
    return f"{tick:g}" if tick < 1000 or tick % 1 else f"{tick:.0f}"


def legend(lines):
    """Names above the plot, two to a row."""
    for index, (line, colour) in enumerate(zip(lines, COLOURS)):
        x, y = LEFT + index % 2 * 300, 52 + index // 2 * 20
        yield f'<path d="M{x} {y - 4}h24" stroke="{colour}" stroke-width="2.5"/>'
        yield f'<circle cx="{x + 12}" cy="{y - 4}" r="3.5" fill="{colour}"/>'
        yield text(x + 32, y, line.name)


def curve(line, colour, x_axis, y_axis):
    """The line through the medians, with a bar from quartile to quartile."""
    places = [(x_axis.place(x), *map(y_axis.place, ys)) for x, *ys in line.points]
    path = " ".join(f"{x},{middle}" for x, _, middle, _ in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
    for (x, low, middle, high), (at, _, value, _) in zip(places, line.points):
        yield f'<path d="M{x} {low}V{high}" stroke="{colour}" stroke-width="1.5"/>'
        yield (f'<circle cx="{x}" cy="{middle}" r="3.5" fill="{colour}">'
               f"<title>{escape(line.name)}, {at:g}: {number(value)}</title></circle>")
