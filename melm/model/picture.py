"""Plots of models: densities for one component, a scatter plot with contours and boundary for two, pairs for more.

`describe` gives the numbers, for clients that draw the plot themselves; `draw` turns them into SVG.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from textwrap import wrap
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import BaseModel, Field

from melm.density import ClassDensities
from melm.model import HeldOutRows, Model
from melm.model.card import Card
from melm.model.markup import Markup, fill, join
from melm.typing import Array, ShouldStop, never

DEFAULT_POINTS = 2_000  # of a model: more can hardly be distinguished
MAX_POINTS = 200_000
MAX_COMPONENTS = 4  # of a plot by pairs
GRID = 64
CURVE = 256
MARGIN = 0.05  # around the data, as a share of its range
CENTRAL = 0.9  # of the rows of a class: what every picture shows
REACH = 0.8  # of the width of the central rows, on either side: normal rows are never cut
ENOUGH = 5  # rows of a class that has a say in how far a picture reaches
LEVELS = (0.05, 0.2, 0.5, 0.8)  # of a class's highest density
COLORS = (  # as on the page: Okabe and Ito, then more
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#b5a300", "#aa4466", "#8c8c8c", "#8a63d2"),
)

Label: TypeAlias = bool | int | float | str
Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
Segment = Annotated[list[float], Field(min_length=4, max_length=4)]  # x and y of both ends


class Contour(BaseModel):
    """A contour line of the density of a class."""

    level: float = Field(description="As a share of the class's highest density.")
    segments: list[Segment]


class Series(BaseModel):
    """One class in one panel."""

    label: Label
    points: list[Pair] = Field(description="Training rows, evenly thinned; empty for one component.")
    held_out: list[Pair] = Field(
        description="Held-out rows, as placed by the fits of their folds; empty if the fit was not validated."
    )
    held_out_rows: list[int] = Field(
        default_factory=list, description="Their indices among the training rows, from 0, if the model stores them."
    )
    held_out_predicted: list[int] = Field(
        default_factory=list, description="The classes that these fits predict for them, as indices of the labels."
    )
    curve: list[Pair] = Field(description="Density times prior along the axis; for one component only.")
    contours: list[Contour]


class Panel(BaseModel):
    """One pair of axes."""

    x_label: str
    y_label: str
    x_range: Pair
    y_range: Pair
    series: list[Series]
    boundary: list[Segment] = Field(description="Decision boundary; for two components only.")


class Plot(BaseModel):
    """All panels of a model."""

    model_id: str
    n_components: int
    n_rows: int = Field(description="Rows that the model stores; the points are some of them.")
    panels: list[Panel]


def describe(model: Model, model_id: str, max_points: int = DEFAULT_POINTS, should_stop: ShouldStop = never) -> Plot:
    """The contents of a plot of the model, as numbers."""
    n_components = model.projection.shape[1]
    n_rows = sum(map(len, model.densities.rows))
    shown = [
        model.densities.thin(c, round(max_points * len(rows) / n_rows)) for c, rows in enumerate(model.densities.rows)
    ]
    labels: list[Label] = model.classes.tolist()
    if n_components == 1:
        panels = [curve_panel(model.densities, labels, should_stop)]
    else:
        pairs = combinations(range(min(n_components, MAX_COMPONENTS)), 2)
        unseen = held_out_rows(model, max_points)
        positions = [each.positions for each in unseen]
        panels = [
            pair_panel(marginal(model.densities, pair), shown, positions, labels, pair, should_stop) for pair in pairs
        ]
        for series, each in zip(panels[0].series, unseen, strict=True):  # the same rows in each panel, listed once
            series.held_out_rows = [] if each.rows is None else each.rows.tolist()
            series.held_out_predicted = each.predicted.tolist()
        if n_components > 2:  # two of several components do not determine the prediction
            panels = [panel.model_copy(update={"boundary": []}) for panel in panels]
    return Plot(model_id=model_id, n_components=n_components, n_rows=n_rows, panels=panels)


def marginal(densities: ClassDensities, pair: tuple[int, int]) -> ClassDensities:
    """The densities of two components: a kernel's marginal is the kernel of the marginal."""
    chosen = list(pair)
    smoothing = densities.smoothing[np.ix_(range(len(densities.smoothing)), chosen, chosen)]
    rows = [rows[:, chosen] for rows in densities.rows]
    return ClassDensities(rows, smoothing, densities.priors, densities.weights)


def curve_panel(densities: ClassDensities, labels: list[Label], should_stop: ShouldStop) -> Panel:
    """Density times prior of every class along one axis."""
    low, high = limits([rows[:, 0] for rows in densities.rows])
    x = np.linspace(low, high, CURVE)
    weighted = np.exp(densities.log_densities(x[:, None], should_stop)) * densities.priors  # (CURVE, C)
    series = [
        Series(label=label, points=[], held_out=[], curve=np.column_stack([x, weighted[:, code]]).tolist(), contours=[])
        for code, label in enumerate(labels)
    ]
    top = 1.05 * float(weighted.max())
    return Panel(x_label="z0", y_label="density", x_range=[low, high], y_range=[0.0, top], series=series, boundary=[])


def held_out_rows(model: Model, max_points: int) -> list[HeldOutRows]:
    """Held-out rows by true class, as placed by the fits of their folds, evenly thinned."""
    found = model.held_out
    if found is None:
        nothing = np.empty(0, np.intp)
        return [HeldOutRows(np.empty((0, model.projection.shape[1])), nothing, nothing) for _ in model.classes]
    thinned = np.arange(0, len(found.codes), max(1, math.ceil(len(found.codes) / max_points)))
    return [
        HeldOutRows(
            found.positions[some],
            found.codes[some],
            found.predicted[some],
            None if found.rows is None else found.rows[some],
        )
        for some in (thinned[found.codes[thinned] == code] for code in range(len(model.classes)))
    ]


def pair_panel(
    densities: ClassDensities,
    shown: list[Array],
    unseen: list[Array],
    labels: list[Label],
    pair: tuple[int, int],
    should_stop: ShouldStop,
) -> Panel:
    """Training rows of two components with contours of the class densities."""
    x_range, y_range = (limits([rows[:, axis] for rows in densities.rows]) for axis in (0, 1))
    x, y = np.linspace(x_range[0], x_range[1], GRID), np.linspace(y_range[0], y_range[1], GRID)
    mesh = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])  # (GRID * GRID, 2), x runs fastest
    logs = densities.log_densities(mesh, should_stop)
    series = []
    for code, label in enumerate(labels):
        relative = np.exp(logs[:, code] - logs[:, code].max()).reshape(GRID, GRID)
        contours = [Contour(level=level, segments=contour(x, y, relative - level)) for level in LEVELS]
        points, held_out = (rows[code][:, list(pair)].tolist() for rows in (shown, unseen))
        series.append(Series(label=label, points=points, held_out=held_out, curve=[], contours=contours))
    with np.errstate(divide="ignore"):
        boundary = decision_boundary(x, y, logs + np.log(densities.priors))
    return Panel(
        x_label=f"z{pair[0]}", y_label=f"z{pair[1]}", x_range=x_range, y_range=y_range, series=series, boundary=boundary
    )


def limits(by_class: list[Array]) -> list[float]:
    """The range of an axis that a plot shows: all classes, without the few rows that lie far from the others.

    Outliers would squeeze all other rows together, so they are drawn at the border.
    """
    large = [values for values in by_class if len(values) >= ENOUGH] or by_class
    ends = np.array([reach(np.sort(values)) for values in large])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    room = MARGIN * (high - low) or 1.0
    return [low - room, high + room]


def reach(values: Array) -> tuple[float, float]:
    """The range of the central values, extended as far as normally distributed values reach."""
    cut = int((1 - CENTRAL) / 2 * (len(values) - 1))
    low, high = values[cut], values[len(values) - 1 - cut]
    beyond = REACH * (high - low)
    return max(values[0], low - beyond), min(values[-1], high + beyond)


def decision_boundary(x: Array, y: Array, joint: Array) -> list[Segment]:
    """The lines at which each class stops being the most probable one. Two classes share a single line."""
    n_classes = joint.shape[1]
    first = joint.argmax(axis=1)
    second, best = np.sort(np.partition(joint, n_classes - 2, axis=1)[:, -2:], axis=1).T
    segments: list[Segment] = []
    for code in np.unique(first)[: 1 if n_classes == 2 else None]:  # no other class has a border
        others = np.where(first == code, second, best)
        segments += contour(x, y, (joint[:, code] - others).reshape(len(y), len(x)))
    return segments


def contour(x: Array, y: Array, values: Array) -> list[Segment]:
    """Where values on a grid (y, x) cross zero: marching squares, a segment for each pair of crossed edges."""
    above = values > 0
    n_above = above[:-1, :-1].astype(np.int8) + above[:-1, 1:] + above[1:, 1:] + above[1:, :-1]
    rows, columns = np.nonzero((n_above > 0) & (n_above < 4))  # the cells that the line goes through
    corners = [(0, 0), (0, 1), (1, 1), (1, 0)]  # (row, column), around the cell
    points = np.empty((len(rows), 4, 2))  # where each edge is crossed
    crossed = np.empty((len(rows), 4), bool)
    for edge, (begin, end) in enumerate(zip(corners, corners[1:] + corners[:1], strict=True)):
        (row_a, column_a), (row_b, column_b) = ((rows + row, columns + column) for row, column in (begin, end))
        a, b = values[row_a, column_a], values[row_b, column_b]
        crossed[:, edge] = (a > 0) != (b > 0)
        share = np.divide(a, a - b, out=np.zeros_like(a), where=crossed[:, edge])
        points[:, edge, 0] = x[column_a] + share * (x[column_b] - x[column_a])
        points[:, edge, 1] = y[row_a] + share * (y[row_b] - y[row_a])
    segments: list[Segment] = points[crossed].round(6).reshape(-1, 4).tolist()  # a cell has two crossings, or four
    return segments


SIZE, GAP, LINE = 420, 60, 18  # of a panel, between panels, from line to line
TOP = 16  # above all text
CHARACTER = 7  # pixels of a letter, about
MOST_NAMED = 60  # classes in a legend
MOST_LETTERS = 40  # of a class's name
NAMED = 2  # columns in the name of an axis
NEGLIGIBLE = 0.25  # of the strongest column's weight: below, a column is not named


def draw(plot: Plot, heading: Sequence[str] = ()) -> Markup:
    """The plot as SVG, under lines of text: the first is its title."""
    n_columns = min(len(plot.panels), 3)
    n_rows = -(-len(plot.panels) // n_columns)
    width = n_columns * (SIZE + GAP) + GAP
    lines = [part for line in heading for part in wrap(line, (width - 2 * GAP) // CHARACTER)]
    legend, bottom = draw_legend(plot, width, TOP + LINE * (len(lines) + 1))
    top = bottom + LINE
    height = n_rows * (SIZE + GAP) + top
    panels = "".join(
        f'<g transform="translate({GAP + index % n_columns * (SIZE + GAP)} {top + index // n_columns * (SIZE + GAP)})">'
        f"{''.join(draw_panel(panel))}</g>"
        for index, panel in enumerate(plot.panels)
    )
    style = 'font-family="system-ui, sans-serif" font-size="12" fill="#333"'
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return fill(
        '<svg xmlns="http://www.w3.org/2000/svg" {} {} role="img" aria-label="{}">'
        '<rect width="100%" height="100%" fill="#fff"/>{}{}{}</svg>',
        Markup(size),
        Markup(style),
        heading[0] if heading else plot.model_id,
        join(draw_heading(lines)),
        join(legend),
        Markup(panels),
    )


def with_axis_names(plot: Plot, model: Model) -> Plot:
    """The plot with axes that are named by the columns that weigh most, such as `bill length - bill depth`."""
    if not model.card.loadings:
        return plot
    names = {f"z{axis}": axis_name(model.card, axis) for axis in range(plot.n_components)}

    def named(panel: Panel) -> Panel:
        labels = {key: names.get(getattr(panel, key), getattr(panel, key)) for key in ("x_label", "y_label")}
        return panel.model_copy(update=labels)

    return plot.model_copy(update={"panels": [named(panel) for panel in plot.panels]})


def axis_name(card: Card, axis: int) -> str:
    """The name of an axis. A column of several features has no sign, as their weights may differ."""
    weights = {name: row[axis] for name, row in zip(card.features, card.loadings, strict=True)}
    if card.columns:
        positions = {p: i for i, p in enumerate(card.feature_positions or range(len(card.features)))}
        weights = {
            column.name: card.loadings[positions[column.features[0]]][axis]
            if len(column.features) == 1 and column.features[0] in positions
            else column.loadings[axis]
            for column in card.columns
        }
    strongest = sorted(weights, key=lambda name: -abs(weights[name]))
    enough = NEGLIGIBLE * abs(weights[strongest[0]])
    named = [name for name in strongest[:NAMED] if abs(weights[name]) > enough]
    parts = [f"{'-' if weights[name] < 0 else '+'} {shorten(name)}" for name in named]
    text = " ".join(parts).removeprefix("+ ")
    return f"{text} …" if any(abs(weights[name]) > enough for name in strongest[len(named) :]) else text


def draw_heading(lines: Sequence[str]) -> Iterator[Markup]:
    """The title, and the lines below it."""
    for index, line in enumerate(lines):
        weight = Markup(' font-weight="bold" font-size="15"') if index == 0 else Markup("")
        yield fill('<text x="{}" y="{}"{}>{}</text>', GAP, TOP + LINE * (index + 1), weight, line)


def draw_legend(plot: Plot, width: int, y: int) -> tuple[list[Markup], int]:
    """A dot and a name for each class on as many lines as needed, and the position of the last line."""
    x, drawn = GAP, []
    named = plot.panels[0].series[:MOST_NAMED]
    for code, series in enumerate(named):
        name = shorten(str(series.label))
        room = 39 + CHARACTER * len(name)
        if x > GAP and x + room > width - GAP:
            x, y = GAP, y + LINE
        drawn.append(Markup(draw_mark(x + 5, y - 4, code, 5)))
        drawn.append(fill('<text x="{}" y="{}">{}</text>', x + 15, y, name))
        x += room
    if more := len(plot.panels[0].series) - len(named):
        drawn.append(fill('<text x="{}" y="{}">and {} more</text>', GAP, y + LINE, more))
        y += LINE
    return drawn, y


def shorten(text: str) -> str:
    """A name that fits into a legend."""
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def color_of(code: int) -> str:
    """The color of a class."""
    return COLORS[code % len(COLORS)]


def draw_mark(x: float, y: float, code: int, radius: float, more: str = "") -> str:
    """A point of a class. After ten classes colors repeat with another shape, as on the page."""
    fill_in = f'fill="{color_of(code)}"{more}/>'
    r = f"{0.9 * radius:.1f}"
    paths = [
        f"m-{r} -{r}h{r}h{r}v{r}v{r}h-{r}h-{r}z",
        f"m0 -{radius}l{radius} {radius}l-{radius} {radius}l-{radius} -{radius}z",
    ]
    paths.append(f"m-{radius} {r}h{radius}h{radius}l-{radius} -{2 * radius}z")
    if code < len(COLORS):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {fill_in}'
    return f'<path d="M{x:.1f} {y:.1f}{paths[(code // len(COLORS) - 1) % len(paths)]}" {fill_in}'


def draw_panel(panel: Panel) -> Iterator[str]:
    """Axes, points, contours, boundary."""
    (x_low, x_high), (y_low, y_high) = panel.x_range, panel.y_range

    def place(x: float, y: float) -> str:
        return f"{(x - x_low) / (x_high - x_low) * SIZE:.1f} {SIZE - (y - y_low) / (y_high - y_low) * SIZE:.1f}"

    def path(segments: list[Segment]) -> str:
        return "".join(f"M{place(x1, y1)}L{place(x2, y2)}" for x1, y1, x2, y2 in segments)

    yield f'<rect width="{SIZE}" height="{SIZE}" fill="none" stroke="#bbb"/>'
    yield from draw_ticks(panel)
    points = [(code, x, y) for code, series in enumerate(panel.series) for x, y in series.points]
    for index in np.random.default_rng(0).permutation(len(points)):  # so that no class hides the others
        code, x, y = points[index]
        inside = min(max(x, x_low), x_high), min(max(y, y_low), y_high)
        left, top = map(float, place(*inside).split())
        if inside == (x, y):
            yield draw_mark(left, top, code, 2.2, ' fill-opacity="0.55"')
        else:  # an outlier, drawn at the border
            yield f'<path d="M{left} {top}m-3 2.5h6l-3 -5z" fill="{color_of(code)}"/>'
    for code, series in enumerate(panel.series):
        color = color_of(code)
        for each in series.contours:
            opacity = 0.35 + each.level / 2
            yield f'<path d="{path(each.segments)}" stroke="{color}" stroke-opacity="{opacity:.2f}" fill="none"/>'
        if series.curve:
            line = "L".join(place(*point) for point in series.curve)
            base = f"L{place(x_high, 0.0)}L{place(x_low, 0.0)}Z"
            yield f'<path d="M{line}{base}" fill="{color}" fill-opacity="0.18" stroke="{color}"/>'
    if panel.boundary:
        yield f'<path d="{path(panel.boundary)}" stroke="#111" stroke-width="1.4" stroke-dasharray="5 3" fill="none"/>'


def draw_ticks(panel: Panel) -> Iterator[str]:
    """Round values along each axis, and the names of the axes."""
    for value, share in ticks(panel.x_range):
        yield f'<text x="{share * SIZE:.0f}" y="{SIZE + 16}" text-anchor="middle" fill="#777">{value:g}</text>'
    for value, share in ticks(panel.y_range):
        yield f'<text x="-6" y="{SIZE - share * SIZE + 4:.0f}" text-anchor="end" fill="#777">{value:g}</text>'
    middle = SIZE / 2
    yield fill('<text x="{}" y="{}" text-anchor="middle">{}</text>', middle, SIZE + 34, panel.x_label)
    turned = Markup(f'transform="rotate(-90 -44 {middle})"')
    yield fill('<text x="-44" y="{}" text-anchor="middle" {}>{}</text>', middle, turned, panel.y_label)


def ticks(bounds: list[float]) -> Iterator[tuple[float, float]]:
    """Multiples of 1, 2 or 5 times a power of ten, each with its relative position between the bounds."""
    low, high = bounds
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough)
    for multiple in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield round(multiple * step, 12), (multiple * step - low) / (high - low)
