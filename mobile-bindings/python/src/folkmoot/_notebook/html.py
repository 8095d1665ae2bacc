"""Small tables and curves as HTML, for notebooks. They are complete in themselves: no scripts, styles or images from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Union

ROWS_MAX = 12
"""The largest number of rows of a table. The rows in the middle of a longer one are left out."""
CURVES_MAX = 8
"""The largest number of curves in a chart."""
POINTS_MAX = 400
"""The largest number of points of a curve. A longer curve is thinned."""
WIDTH, HEIGHT, MARGIN = 420, 160, 36
"""The size of a chart, and the room for its numbers, in pixels."""

_COLOURS = ("#1f5aa6", "#b3541e", "#2a7f4f", "#8a3b8f", "#7a6a00", "#a03050", "#2b7a8c", "#555555")
"""Colours with a contrast of at least 4 to 1 on white, and 3 to 1 on black."""

Point = tuple[float, float]
Curves = Mapping[str, Sequence[Point]]
Figure = Union[str, int, float, bool, None]


def number(value: Figure) -> str:
    """Formats a value for people: at most four significant digits, and an en dash if it is missing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 and math.isfinite(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value


def size(count: int | None) -> str:
    """Formats a number of bytes."""
    if count is None:
        return "–"
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{count} B" if unit == "B" else f"{amount:.3g} {unit}"


def table(
    header: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    cells: Callable[[Mapping[str, Any]], Sequence[Figure]],
) -> str:
    """Returns a table with `cells` of each row. All texts are escaped."""
    half = ROWS_MAX // 2
    is_long = len(rows) > ROWS_MAX
    kept = [*rows[:half], *rows[-half:]] if is_long else rows
    listed = [[number(cell) for cell in cells(row)] for row in kept]
    if is_long:
        listed.insert(half, ["…"] * len(header))
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in listed)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def line(pairs: Mapping[str, Figure]) -> str:
    """Returns facts as one line of text, which is not HTML."""
    return ", ".join(f"{name} {number(value)}" for name, value in pairs.items())


def facts(pairs: Mapping[str, Figure]) -> str:
    """Returns a table with one fact a row."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(number(value))}</td></tr>'
        for name, value in pairs.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def section(title: str, *parts: str) -> str:
    """Returns a titled piece of a notebook's output."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def chart(curves: Curves, title: str) -> str:
    """Returns curves as one inline SVG; an empty text if no curve has a point. `title` is also its text for screen readers.

    A curve with a single point is a dot. Points that are not finite are left out.
    """
    drawn = {name: _finite(points) for name, points in list(curves.items())[:CURVES_MAX]}
    drawn = {name: points for name, points in drawn.items() if points}
    if not drawn:
        return ""
    everything = [point for points in drawn.values() for point in points]
    horizontal, vertical = (_range([point[axis] for point in everything]) for axis in (0, 1))

    def place(point: Point) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * (point[0] - horizontal[0]) / (horizontal[1] - horizontal[0])
        y = HEIGHT - MARGIN / 2 - (HEIGHT - MARGIN) * (point[1] - vertical[0]) / (vertical[1] - vertical[0])
        return f"{x:.1f},{y:.1f}"

    shapes = []
    for index, (name, points) in enumerate(drawn.items()):
        colour = _COLOURS[index]
        if len(points) == 1:
            x, y = place(points[0]).split(",")
            shapes.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"><title>{escape(name)}</title></circle>')
        else:
            path = " ".join(map(place, points))
            shapes.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5">'
                f"<title>{escape(name)}</title></polyline>"
            )
        if len(drawn) > 1:
            shapes.append(_text(WIDTH - MARGIN + 4, MARGIN / 2 + 12 * index, name[:24], "start", colour))
    shapes += [
        _text(MARGIN - 4, MARGIN / 2 + 4, number(vertical[1]), "end"),
        _text(MARGIN - 4, HEIGHT - MARGIN / 2, number(vertical[0]), "end"),
        _text(MARGIN, HEIGHT - 4, number(horizontal[0]), "start"),
        _text(WIDTH - MARGIN, HEIGHT - 4, number(horizontal[1]), "end"),
    ]
    width = WIDTH if len(drawn) == 1 else WIDTH + 140
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" width="{width}" '
        f'height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}" style="display:block">{"".join(shapes)}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str, colour: str = "currentColor") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="10" font-family="sans-serif" text-anchor="{anchor}" '
        f'fill="{colour}">{escape(words)}</text>'
    )


def _finite(points: Sequence[Point]) -> list[Point]:
    """Returns the points that are finite, at most POINTS_MAX, and always the last."""
    finite = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    step = -(-len(finite) // POINTS_MAX) or 1
    return finite if step == 1 else [*finite[:-1:step], finite[-1]]


def _range(values: list[float]) -> tuple[float, float]:
    """Returns the smallest and the largest value, and a wider range if both are the same."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def curve(rows: Iterable[Mapping[str, Any]], x: str, y: str) -> list[Point]:
    """Returns the points of two columns, without rows where one is missing."""
    return [(row[x], row[y]) for row in rows if row[x] is not None and row[y] is not None]
