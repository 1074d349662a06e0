"""The figures, as SVG: small panels side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from melm.typing import Array

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#000000", "#7B3294", "#8C510A")
PANEL_WIDTH, PANEL_HEIGHT = 190, 150
MARGIN = 14
TITLE = 20
COLUMNS = 5
BARS = 24
PAPER_STARTS = 16  # after so many the paper stops


def histograms(divergences: Mapping[str, Array]) -> str:
    """How often random starts reach which divergence, by data set."""
    return _panels({name: _histogram(values) for name, values in divergences.items()})


def pictures(pictures: Mapping[str, Array], codes: Sequence[int]) -> str:
    """The rows of one data set as each entrant shows them. One component is drawn as a band."""
    return _panels({name: _scatter(Z, codes) for name, Z in pictures.items()})


def expected_best(divergences: Array, n_starts: int) -> float:
    """The mean over all choices of n_starts of these starts of the best divergence among them."""
    ordered = np.sort(divergences)
    n = len(ordered)
    # The i-th smallest is the best of a choice when the other n_starts - 1 are among the i smaller ones.
    weights = [math.comb(i, n_starts - 1) / math.comb(n, n_starts) for i in range(n)]
    return float(np.dot(ordered, weights))


def curves(divergences: Mapping[str, Array]) -> str:
    """The expected best divergence against the number of starts, as a share of the best that was seen."""
    width, height, left, bottom = 640, 380, 46, 40
    most = min(len(values) for values in divergences.values())
    steps = sorted({round(2**power) for power in np.arange(0, math.log2(most), 0.25)})
    shares = {name: [expected_best(v, s) / v.max() for s in steps] for name, v in divergences.items()}
    lowest = min(0.9, math.floor(10 * float(min(min(share) for share in shares.values()))) / 10)

    def x(n_starts: float) -> float:
        return left + (width - left - 130) * math.log2(n_starts) / math.log2(steps[-1])

    def y(share: float) -> float:
        return MARGIN + (height - MARGIN - bottom) * (1 - share) / (1 - lowest)

    parts = [_line(x(PAPER_STARTS), y(1), x(PAPER_STARTS), y(lowest), "#888", dashes="4 3")]
    parts += [_line(x(1), y(0.95), x(steps[-1]), y(0.95), "#888", dashes="1 3")]
    parts += [_line(x(1), y(lowest), x(steps[-1]), y(lowest), "#333"), _line(x(1), y(1), x(1), y(lowest), "#333")]
    for n_starts in (2**power for power in range(int(math.log2(steps[-1])) + 1)):
        parts.append(_text(x(n_starts), height - bottom + 15, str(n_starts), anchor="middle"))
    for tenth in range(round(10 * lowest), 11):
        parts.append(_text(left - 6, y(tenth / 10) + 4, f"{tenth / 10:.1f}", anchor="end"))
    parts.append(_text((left + width - 130) / 2, height - 8, "starts", anchor="middle"))
    for index, (name, share) in enumerate(shares.items()):
        color = COLORS[index % len(COLORS)]
        points = " ".join(f"{x(s):.1f},{y(value):.1f}" for s, value in zip(steps, share, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        height_of_name = MARGIN + 16 * (index + 1)
        parts.append(_line(width - 120, height_of_name - 4, width - 104, height_of_name - 4, color, width=3))
        parts.append(_text(width - 98, height_of_name, name))
    return _document(width, height, parts)


def _histogram(values: Array) -> list[str]:
    low, high = float(values.min()), float(values.max())
    counts, _ = np.histogram(values, BARS, (low, high) if high > low else (low - 0.5, low + 0.5))
    bar = (PANEL_WIDTH - 2 * MARGIN) / BARS
    floor = PANEL_HEIGHT - 2 * MARGIN
    tallest = floor - TITLE - 4
    parts = [
        f'<rect x="{MARGIN + i * bar:.1f}" y="{floor - tallest * count / counts.max():.1f}" '
        f'width="{bar - 0.5:.1f}" height="{tallest * count / counts.max():.1f}" fill="{COLORS[0]}"/>'
        for i, count in enumerate(counts.tolist())
        if count
    ]
    parts.append(_line(MARGIN, floor, PANEL_WIDTH - MARGIN, floor, "#333"))
    parts.append(_text(MARGIN, floor + 14, f"{low:.2f}"))
    parts.append(_text(PANEL_WIDTH - MARGIN, floor + 14, f"{high:.2f}", anchor="end"))
    return parts


def _scatter(Z: Array, codes: Sequence[int]) -> list[str]:
    if Z.shape[1] == 1:
        Z = np.column_stack([Z, np.arange(len(Z)) % 17])
    low, high = Z.min(axis=0), Z.max(axis=0)
    share = (Z - low) / np.where(high > low, high - low, 1.0)
    xs = MARGIN + (PANEL_WIDTH - 2 * MARGIN) * share[:, 0]
    ys = PANEL_HEIGHT - MARGIN - (PANEL_HEIGHT - 2 * MARGIN - TITLE) * share[:, 1]
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8" fill="{COLORS[code]}" fill-opacity=".7"/>'
        for x, y, code in zip(xs.tolist(), ys.tolist(), codes, strict=True)
    ]


def _panels(contents: Mapping[str, list[str]]) -> str:
    n_lines = math.ceil(len(contents) / COLUMNS)
    parts = []
    for index, (title, shapes) in enumerate(contents.items()):
        line, column = divmod(index, COLUMNS)
        parts.append(f'<g transform="translate({column * PANEL_WIDTH} {line * PANEL_HEIGHT})">')
        parts += [_text(PANEL_WIDTH / 2, TITLE - 4, title, anchor="middle"), *shapes, "</g>"]
    return _document(COLUMNS * PANEL_WIDTH, n_lines * PANEL_HEIGHT, parts)


def _document(width: int, height: int, parts: Sequence[str]) -> str:
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11" fill="#333">'
    )
    return "\n".join([begin, f'<rect width="{width}" height="{height}" fill="#fff"/>', *parts, "</svg>\n"])


def _line(x1: float, y1: float, x2: float, y2: float, color: str, dashes: str = "", width: float = 1) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width}"{dashed}/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
