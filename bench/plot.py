# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, written by hand: bars of ratios, lines of growth, curves of waiting, on logarithmic axes"""

import math
from html import escape

FONT = 'font-family="system-ui, sans-serif" font-size="12"'
INK, FAINT, GRID = "#1f2328", "#57606a", "#d8dee4"
COLOURS = {"hora": "#1f6feb", "jdk": "#d9730d", "best": "#2da44e"}
OTHERS = ["#2da44e", "#8250df", "#bf3989", "#9a6700", "#0a7ea4", "#6e7781"]


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" {FONT}>\n'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def text(x, y, words, anchor="start", colour=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def line(x1, y1, x2, y2, colour=GRID, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def bar(x1, x2, y, height, colour):
    return (f'<rect x="{min(x1, x2):.1f}" y="{y:.1f}" width="{max(abs(x2 - x1), 1):.1f}" '
            f'height="{height}" rx="2" fill="{colour}"/>')


def points_of(places):
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def label(value):
    if value == float("inf"):
        return "∞"
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


class Logarithmic:
    """From values to places. Covers whole powers of ten."""

    def __init__(self, values, start, end):
        values = [value for value in values if value > 0] or [1]
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.high = max(self.high, self.low + 1)
        self.start, self.end = start, end

    def place(self, value):
        value = min(max(math.log10(value) if value > 0 else self.low, self.low), self.high)
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


def bars_of_ratios(rows):
    """rows: (name, hora : jdk or None, hora : best or None, name of the best). Above 1 hora is ahead."""
    left, top, row_height, width = 190, 56, 34, 860
    height = top + row_height * len(rows) + 30
    finite = [value for _, *pair, _ in rows for value in pair if value and 0 < value < float("inf")]
    axis = Logarithmic([0.1, 10, *finite], left, width - 130)
    parts = [text(12, 20, "How many times as good hora is", weight="bold"),
             bar(12, 24, 30, 10, COLOURS["jdk"]), text(30, 40, "as the JDK"),
             bar(112, 124, 30, 10, COLOURS["best"]), text(130, 40, "as the best peer")]
    for tick in axis.ticks():
        parts += [line(axis.place(tick), top, axis.place(tick), height - 24),
                  text(axis.place(tick), height - 8, f"{tick:g}", "middle", FAINT)]
    for number, (name, jdk, best, best_name) in enumerate(rows):
        y = top + number * row_height + 4
        parts.append(text(left - 10, y + 16, name, "end"))
        for offset, value, colour, words in ((0, jdk, COLOURS["jdk"], ""),
                                             (13, best, COLOURS["best"], best_name)):
            if value is None:
                continue
            place = axis.place(value)
            parts += [bar(axis.place(1), place, y + offset, 11, colour),
                      text(max(place, axis.place(1)) + 6, y + offset + 10,
                           f"{label(value)} {words}".strip(), colour=FAINT)]
    parts.append(line(axis.place(1), top, axis.place(1), height - 24, INK, 1.5))
    return svg(width, height, parts)


def lines_of_growth(title, unit, x_unit, lines):
    """lines: {subject: [(size, value)]}."""
    left, right, top, bottom, width, height = 70, 110, 44, 48, 640, 380
    points = [point for one in lines.values() for point in one]
    x = Logarithmic([size for size, _ in points], left, width - right)
    if max(size for size, _ in points) <= 8:  # 1, 2, 4, 8: not whole powers of ten
        x.low, x.high = 0, math.log10(8)
    y = Logarithmic([value for _, value in points], height - bottom, top)
    parts = [text(12, 20, f"{title}, {unit}", weight="bold"),
             text((left + width - right) / 2, height - 10, x_unit, "middle", FAINT)]
    for tick in y.ticks():
        parts += [line(left, y.place(tick), width - right, y.place(tick)),
                  text(left - 8, y.place(tick) + 4, label(tick), "end", FAINT)]
    for size in sorted({size for size, _ in points}):
        parts.append(text(x.place(size), height - bottom + 18, label(size), "middle", FAINT))
    others, taken = iter(OTHERS * 4), []
    for name, one in lines.items():
        colour = COLOURS.get(name) or next(others)
        places = [(x.place(size), y.place(value)) for size, value in one]
        parts.append(f'<polyline points="{points_of(places)}" fill="none" stroke="{colour}" '
                     'stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in places]
        at = places[-1][1]
        while any(abs(at - other) < 14 for other in taken):  # labels do not lie on each other
            at += 14
        taken.append(at)
        parts.append(text(places[-1][0] + 10, at + 4, name, colour=colour, weight="bold"))
    return svg(width, height, parts)


def time_label(ns):
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= limit:
            return f"{ns / limit:.0f} {unit}"
    return f"{ns:.0f} ns"


class Linear:
    """From values to places. Covers round steps from 0 on."""

    def __init__(self, highest, start, end):
        steps = (10.0 ** power * few for power in range(12) for few in (1, 2, 5))
        self.step = next(step for step in steps if highest <= 6 * step)
        self.count = max(math.ceil(highest / self.step), 1)
        self.start, self.end = start, end

    def place(self, value):
        return self.start + value / (self.count * self.step) * (self.end - self.start)

    def ticks(self):
        return [self.step * number for number in range(self.count + 1)]


DASHES = ["", "7 3", "2 3", "9 3 2 3"]  # so that curves can be told apart without colours
PANEL = {"left": 72, "top": 78, "bottom": 50, "width": 206, "gap": 20, "height": 400}


def legend(words, looks):
    parts, at = [text(12, 42, words, colour=FAINT)], 28 + 6 * len(words)
    for kind, (colour, dashes) in looks.items():
        parts += [f'<path d="M{at} 38 h30" fill="none" stroke="{colour}" stroke-width="2" '
                  f'stroke-dasharray="{dashes}"/>',
                  text(at + 36, 42, kind)]
        at += 60 + 7 * len(kind)
    return parts


def curve(places, colour, dashes):
    return (f'<polyline points="{points_of(places)}" fill="none" stroke="{colour}" '
            f'stroke-width="2" stroke-dasharray="{dashes}"/>')


def panels_of_waits(title, panels, y, y_labels, x, x_labels, x_words):
    """panels: {name: {kind: [(a value of x, waited in ns)]}}; labels: [(value, words)].

    x: from a value to a part of the width."""
    left, top, bottom, panel, gap, height = PANEL.values()
    width = left + len(panels) * (panel + gap)
    kinds = dict.fromkeys(kind for curves in panels.values() for kind in curves)
    looks = dict(zip(kinds, zip([COLOURS["hora"], COLOURS["jdk"], *OTHERS], DASHES)))
    parts = [text(12, 20, title, weight="bold"), *legend("waiting time of", looks)]
    for value, words in y_labels:
        parts.append(text(left - 8, y.place(value) + 4, words, "end", FAINT))
    for number, (name, curves) in enumerate(panels.items()):
        start = left + number * (panel + gap)
        parts.append(text(start + panel / 2, top - 10, name, "middle", weight="bold"))
        parts += [line(start, y.place(value), start + panel, y.place(value)) for value, _ in y_labels]
        for value, words in x_labels:
            at = start + x(value) * panel
            parts += [line(at, top, at, height - bottom),
                      text(at, height - bottom + 17, words, "middle", FAINT)]
        for kind, points in curves.items():
            places = [(start + x(value) * panel, y.place(waited)) for value, waited in points]
            parts.append(curve(places, *looks[kind]))
    parts.append(text(left + (width - left - gap) / 2, height - 10, x_words, "middle", FAINT))
    return svg(width, height, parts)


def values_of(panels):
    return [point for curves in panels.values() for points in curves.values() for point in points]


def curves_of_waits(title, panels):
    """By share: so many of all tasks of the kind wait no longer than that."""
    # Shorter than 10 us is none.
    waits = [max(waited, 1e4) for share, waited in values_of(panels) if share >= 0.5 and waited]
    y = Logarithmic(waits, PANEL["height"] - PANEL["bottom"], PANEL["top"])
    y_labels = [(tick, "≤ " * (number == 0) + time_label(tick)) for number, tick in enumerate(y.ticks())]
    x_labels = [(0, "0"), (0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (1, "all")]

    def x(share):
        return -math.log10(1 - share) / 3.6 if share < 1 else 1

    return panels_of_waits(title, panels, y, y_labels, x, x_labels,
                           "so many of a hundred tasks wait no longer than that")


def courses_of_waits(title, panels):
    """By the second in which they came."""
    highest = max(waited for _, waited in values_of(panels)) / 1e9
    y = Linear(highest, PANEL["height"] - PANEL["bottom"], PANEL["top"])
    in_seconds = {name: {kind: [(came, waited / 1e9) for came, waited in points]
                         for kind, points in curves.items()}
                  for name, curves in panels.items()}
    end = max(came for came, _ in values_of(panels))
    x = Linear(end, 0, 1)
    return panels_of_waits(title, in_seconds, y, [(tick, f"{tick:g} s") for tick in y.ticks()], x.place,
                           [(tick, f"{tick:g}") for tick in x.ticks()[::2]],
                           "the second in which the tasks came")
