"""Pictures of models by matplotlib, with the interface of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from melm.data.frames import is_frame, read_rows
from melm.extras import check_extra
from melm.model import Model
from melm.model.picture import (
    COLORS,
    DEFAULT_POINTS,
    MOST_NAMED,
    Label,
    Panel,
    Plot,
    describe,
    shorten,
    with_axis_names,
)
from melm.typing import Array, Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

MARKERS = "osD^"  # after ten classes colors repeat with another shape, as on the page
INCHES = 5.0  # of a panel
TITLE_LETTERS = 62  # in a line above one panel
TITLE_LINES = 4
REACH = 0.75  # of the way from the origin to the border, where the longest arrow ends
LETTER, LINE = 0.7, 1.3  # width and height of text, as shares of its size
SPREADING = 60  # rounds in which names are moved apart
MANY_PANELS = 3  # side by side


def plot(
    estimator: Any,
    X: Matrix | None = None,
    y: npt.ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    arrows: int = 6,
) -> Any:
    """Draw a fitted MELM or a model: its classes, its decision boundary, and the features that make up its axes.

    With one component, the class densities are drawn; with two, points, contours of the densities and the decision
    boundary; with more, the same for each pair of the first four. If the fit was validated, held-out rows are drawn as
    rings. The title is the verdict on the fit.

    Parameters
    ----------
    estimator : MELM, Pipeline that ends in a MELM, or Model
        The fitted estimator or model, which may also come from `melm.remote`.
    X : rows of features, optional
        Rows to draw; by default those that the model stores.
    y : array-like of labels, optional
        Classes of these rows; by default those that the model predicts.
    ax : Axes, optional
        Where to draw, for up to two components; by default in a new figure.
    arrows : int, default=6
        Number of features that are drawn as arrows, those with the largest loadings. 0 draws none.

    Returns
    -------
    Axes, or ndarray of Axes with three components or more

    See Also
    --------
    ProjectionDisplay : The same as an object, with the interface of scikit-learn's displays.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import melm
    >>> X, y = load_wine(return_X_y=True)
    >>> ax = melm.plot(melm.MELM(n_starts=4, random_state=0).fit(X, y))  # doctest: +SKIP
    """
    display = ProjectionDisplay.from_estimator(estimator, X, y, ax=ax, arrows=arrows)
    return display.ax_ if display.ax_ is not None else display.axes_


class ProjectionDisplay:
    """A projection with its class densities, drawn by matplotlib.

    Create one with `from_estimator`. Call `plot` to draw it again on other axes.

    Parameters
    ----------
    model : Model
        The fitted model.
    points : list of ndarray of shape (n_rows, n_components), optional
        Projected rows by class, in the order of `model.classes`; by default those that the model stores.

    Attributes
    ----------
    figure_ : Figure
    ax_ : Axes, or None with three components or more
    axes_ : ndarray of Axes
        One for each pair of components.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from melm import MELM, ProjectionDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> fitted = MELM(n_starts=4, random_state=0).fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(fitted, X, y)  # doctest: +SKIP
    """

    figure_: Figure
    ax_: Axes | None
    axes_: npt.NDArray[Any]

    def __init__(self, model: Model, points: Sequence[Array] | None = None) -> None:
        self.model = model
        self.points = points

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Matrix | None = None,
        y: npt.ArrayLike | None = None,
        *,
        ax: Axes | None = None,
        arrows: int = 6,
    ) -> Self:
        """Draw a fitted estimator or model; the parameters are those of `melm.plot`."""
        model = model_of(estimator)
        points = None if X is None else _by_class(estimator, model, X, y)
        if X is None and y is not None:
            raise ValueError("y are the labels of X, but X is missing.")
        return cls(model, points).plot(ax=ax, arrows=arrows)

    def plot(self, *, ax: Axes | None = None, arrows: int = 6) -> Self:
        """Draw on these axes, or in a new figure."""
        check_extra("plot", "a plot")
        picture = with_axis_names(describe(self.model, self.model.method), self.model)
        self.axes_ = self._axes(len(picture.panels), ax)
        self.ax_ = self.axes_[0] if picture.n_components <= 2 else None
        self.figure_ = self.axes_[0].figure
        pairs = [(0, 1)] if picture.n_components <= 2 else _pairs(picture)
        for panel, pair, axes in zip(picture.panels, pairs, self.axes_, strict=True):
            if picture.n_components == 1:
                self._draw_densities(axes, panel)
            else:
                self._draw_plane(axes, panel, pair, arrows)
        self.axes_[0].legend(fontsize="small", framealpha=0.8)
        self._draw_title(len(self.axes_))
        return self

    def _axes(self, n_panels: int, ax: Axes | None) -> npt.NDArray[Any]:
        from matplotlib import pyplot

        if ax is not None and n_panels > 1:
            raise ValueError(f"{n_panels} pairs of components do not fit into one ax: leave it out.")
        if ax is not None:
            return np.array([ax])
        n_columns = min(n_panels, MANY_PANELS)
        n_lines = -(-n_panels // n_columns)
        size = (INCHES * n_columns + 1, INCHES * n_lines + 0.7)
        _, axes = pyplot.subplots(n_lines, n_columns, figsize=size, layout="constrained", squeeze=False)
        return np.asarray(axes.ravel())

    def _draw_title(self, n_panels: int) -> None:
        verdict = self.model.card.verdict
        if verdict is None:
            return
        width = TITLE_LETTERS * min(n_panels, MANY_PANELS)
        lines = wrap(verdict.sentence, width, max_lines=TITLE_LINES, placeholder=" …")
        if n_panels == 1:
            self.axes_[0].set_title("\n".join(lines), fontsize="medium", loc="left")
        else:
            self.figure_.suptitle("\n".join(lines), fontsize="medium")

    def _draw_densities(self, axes: Axes, panel: Panel) -> None:
        for code, series in enumerate(panel.series):
            x, density = np.array(series.curve).T
            axes.plot(x, density, color=_color(code), label=_label(code, series.label))
            axes.fill_between(x, density, color=_color(code), alpha=0.15)
            rows = self._rows(code)[:, 0]
            axes.plot(rows, np.full(len(rows), -0.02 * panel.y_range[1]), "|", color=_color(code), alpha=0.5)
        axes.set(xlim=panel.x_range, ylim=(-0.04 * panel.y_range[1], panel.y_range[1]))
        axes.set(xlabel=panel.x_label, ylabel="density times prior")

    def _draw_plane(self, axes: Axes, panel: Panel, pair: tuple[int, int], n_arrows: int) -> None:
        low, high = np.array([panel.x_range, panel.y_range]).T
        for code, series in enumerate(panel.series):
            rows = np.clip(self._rows(code)[:, list(pair)], low, high)  # outliers are drawn at the border
            held_out = np.clip(np.reshape(series.held_out, (-1, 2)), low, high)
            self._draw_rows(axes, code, rows, held_out, series.label)
            for contour in series.contours:
                alpha = 0.3 + contour.level / 2
                axes.add_collection(_lines(contour.segments, colors=_color(code), alpha=alpha, linewidths=1))
        if any(series.held_out for series in panel.series):
            axes.scatter([], [], s=22, facecolors="none", edgecolors="0.3", label="held out")
        if panel.boundary:
            axes.add_collection(_lines(panel.boundary, colors="0.1", linewidths=1.3, label="boundary"))
        axes.set(xlim=panel.x_range, ylim=panel.y_range, xlabel=panel.x_label, ylabel=panel.y_label)
        self._draw_arrows(axes, pair, low, high, n_arrows)

    def _draw_rows(self, axes: Axes, code: int, rows: Array, held_out: Array, label: Label) -> None:
        """Draw training rows as points, and held-out rows as rings."""
        mark, color = MARKERS[code // len(COLORS) % len(MARKERS)], _color(code)
        drawn: dict[str, Any] = {"marker": mark, "clip_on": False, "zorder": 2}
        points: dict[str, Any] = {"color": color, "alpha": 0.45, "linewidths": 0, "label": _label(code, label)}
        rings: dict[str, Any] = {"facecolors": "none", "edgecolors": color, "alpha": 0.6, "linewidths": 0.8}
        axes.scatter(rows[:, 0], rows[:, 1], s=14, **points, **drawn)
        axes.scatter(held_out[:, 0], held_out[:, 1], s=22, **rings, **drawn)

    def _draw_arrows(self, axes: Axes, pair: tuple[int, int], low: Array, high: Array, n_arrows: int) -> None:
        """Draw arrows for the features whose standard deviation moves rows farthest in this plane."""
        from matplotlib import patheffects

        spread = np.concatenate(self.model.densities.rows).std(axis=0)
        steps = (self.model.standardized_loadings * spread)[:, list(pair)]
        sizes = np.linalg.norm(steps, axis=1)
        chosen = np.argsort(-sizes, kind="stable")[: max(n_arrows, 0)]
        chosen = chosen[sizes[chosen] > 0]
        if not len(chosen):
            return
        origin = np.clip(0.0, low, high)
        room = np.where(steps[chosen] > 0, high - origin, origin - low)
        with np.errstate(divide="ignore"):
            tips = origin + steps[chosen] * REACH * float((room / np.abs(steps[chosen])).min())
        names = [shorten(self.model.features[j]) for j in chosen]
        outline = [patheffects.withStroke(linewidth=2.5, foreground="white")]
        for tip, place, name in zip(tips, _apart(axes, tips, origin, names), names, strict=True):
            arrow = {"arrowstyle": "-|>", "color": "0.25", "shrinkA": 0, "shrinkB": 0, "linewidth": 1.2}
            axes.annotate("", tip, origin, arrowprops=arrow, zorder=4)
            text = axes.text(
                float(place[0]), float(place[1]), name, fontsize="small", ha="center", va="center", zorder=5
            )
            text.set(path_effects=outline, clip_on=True)

    def _rows(self, code: int) -> Array:
        """Rows of a class, thinned to as many as can be distinguished."""
        if self.points is None:
            densities = self.model.densities
            share = len(densities.rows[code]) / sum(map(len, densities.rows))
            return densities.thin(code, round(DEFAULT_POINTS * share))
        share = len(self.points[code]) / max(sum(map(len, self.points)), 1)
        rows, n_shown = self.points[code], max(round(DEFAULT_POINTS * share), 1)
        return rows[np.linspace(0, len(rows) - 1, min(len(rows), n_shown)).astype(np.intp)]


def model_of(estimator: Any) -> Model:
    """The model of an estimator, a pipeline or a model of a service."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    last = last.to_local() if hasattr(last, "to_local") else last  # a model of a service
    model = getattr(last, "model_", last)
    if not isinstance(model, Model):
        kind = type(last).__name__
        fitted = f"{kind} is not fitted yet: call fit first" if hasattr(last, "fit") else f"{kind} is neither of them"
        raise ValueError(f"A fitted MELM or a Model can be drawn; this {fitted}.")
    return model


def _by_class(estimator: Any, model: Model, X: Matrix, y: npt.ArrayLike | None) -> list[Array]:
    """Projected rows by class."""
    if isinstance(estimator, Model) and is_frame(X):
        X = read_rows(X, model.columns, model.encoder, fitted=None)
    Z: Array = np.asarray(estimator.transform(X))
    labels = np.asarray(estimator.predict(X) if y is None else y)
    if labels.shape != (len(Z),):
        raise ValueError(f"X has {len(Z)} rows, y has shape {labels.shape}.")
    unknown = sorted({str(label) for label in labels.tolist()} - {str(label) for label in model.classes.tolist()})
    if unknown:
        raise ValueError(f"y holds classes that the model does not know: {', '.join(unknown[:5])}.")
    texts = labels.astype(str)
    return [Z[texts == str(label)] for label in model.classes.tolist()]


def _pairs(picture: Plot) -> list[tuple[int, int]]:
    from itertools import combinations

    n_shown = 2
    while n_shown * (n_shown - 1) // 2 < len(picture.panels):
        n_shown += 1
    return list(combinations(range(n_shown), 2))


def _apart(axes: Axes, tips: Array, origin: Array, names: Sequence[str]) -> Array:
    """Positions for names beyond the tips of the arrows, moved up or down so that none covers another."""
    from matplotlib.font_manager import FontProperties

    points = FontProperties(size="small").get_size_in_points() * axes.figure.dpi / 72
    scale = np.array(axes.get_window_extent().size) / np.abs([np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())])
    sizes = np.array([[LETTER * points * len(name), LINE * points] for name in names])  # pixels
    away = (tips - origin) * scale
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T * scale
    places = np.clip(tips * scale + away * (sizes / 2 + 2), low + sizes / 2, high - sizes / 2)
    for _ in range(SPREADING):
        moved = False
        for a in range(len(names)):
            for b in range(a):
                apart = places[a] - places[b]
                needed = (sizes[a] + sizes[b]) / 2
                if (np.abs(apart) < needed).all():
                    step = (needed[1] - abs(apart[1])) / 2 + 0.5
                    up = 1.0 if apart[1] >= 0 else -1.0
                    places[a, 1] += up * step
                    places[b, 1] -= up * step
                    moved = True
        if not moved:
            break
    return np.asarray(places / scale)


def _lines(segments: Any, **options: Any) -> LineCollection:
    from matplotlib.collections import LineCollection

    return LineCollection(list(np.reshape(segments, (-1, 2, 2))), **options)


def _color(code: int) -> str:
    return COLORS[code % len(COLORS)]


def _label(code: int, label: object) -> str:
    return shorten(str(label)) if code < MOST_NAMED else "_"  # matplotlib omits labels with this prefix
