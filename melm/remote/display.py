"""The display of remote objects in notebooks and consoles: verdict, picture, size, and next steps."""

from __future__ import annotations

from abc import abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from melm.remote.errors import RemoteError

SHOWN_COLUMNS = 30
SHOWN_CLASSES = 10


@dataclass(frozen=True)
class Summary:
    """A summary of a remote object."""

    title: str
    lines: Sequence[str] = ()
    strong: str | None = None  # the line that counts, such as a verdict
    header: Sequence[str] = ()  # of a table,
    rows: Sequence[Sequence[object]] = ()  # and its rows
    calls: Sequence[str] = ()  # how to go on
    page: str | None = None  # where a browser shows it
    share_done: float | None = None  # of what is under way
    warnings: Sequence[str] = field(default_factory=tuple)

    def as_text(self) -> str:
        """The summary as text, for consoles."""
        lines = [self.title, *([self.strong] if self.strong else []), *self.lines]
        if self.rows:
            table = [[str(cell) for cell in row] for row in (self.header, *self.rows)]
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        lines += [f"Go on: {' · '.join(self.calls)}"] if self.calls else []
        lines += [f"Page: {self.page}"] if self.page else []
        return "\n".join(map(printable, lines))

    def as_html(self, picture: str | None = None) -> str:
        """The summary as HTML, for notebooks. The SVG is isolated, so its styles and ids do not conflict."""
        parts = [f"<p>{escape(self.title)}</p>"]
        if self.strong:
            parts.insert(0, f"<p><b>{escape(self.strong)}</b></p>")
        parts += [f"<p>{escape(line)}</p>" for line in self.lines]
        parts += [f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in self.warnings)}</ul>"] if self.warnings else []
        if self.share_done is not None:
            parts.append(f'<progress value="{self.share_done:.3f}" max="1"></progress>')
        if self.rows:
            head = html_row("th", self.header)
            parts.append(f"<table>{head}{''.join(html_row('td', row) for row in self.rows)}</table>")
        if self.calls:
            parts.append(f"<p>{' · '.join(f'<code>{escape(call)}</code>' for call in self.calls)}</p>")
        if self.page:
            parts.append(f'<p><a href="{escape(self.page)}" target="_blank" rel="noopener">Open the page</a></p>')
        if picture is not None:
            source = b64encode(picture.encode()).decode()
            alt = escape(self.strong or self.title)
            parts.append(f'<img alt="{alt}" style="max-width: 100%" src="data:image/svg+xml;base64,{source}">')
        return f"<div>{''.join(parts)}</div>"


class Displayed:
    """Base class of objects with a summary. If the service is unavailable, the `repr` is shown instead."""

    @abstractmethod
    def _summary(self) -> Summary:
        """The summary; may send requests to the service."""

    def _picture(self) -> str | None:
        """A picture as SVG, if there is one."""
        return None

    def __str__(self) -> str:
        try:
            return self._summary().as_text()
        except RemoteError as error:
            return f"{self!r}: {error}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Called by IPython in a console."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """Called by notebooks."""
        try:
            return self._summary().as_html(self._picture())
        except RemoteError as error:
            return Summary(repr(self), [str(error)]).as_html()


def printable(line: str) -> str:
    """A line without control characters, which names may contain."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in line)


def html_row(tag: str, cells: Iterable[object]) -> str:
    """A row of a table."""
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"


def sizes(n_rows: int, n_features: int, classes: Sequence[object], counts: Sequence[int]) -> str:
    """Rows, features and classes in one line."""
    named = ", ".join(
        f"{label} ({n:,})" for label, n in zip(classes[:SHOWN_CLASSES], counts[:SHOWN_CLASSES], strict=True)
    )
    more = f" and {len(classes) - SHOWN_CLASSES} more" if len(classes) > SHOWN_CLASSES else ""
    return f"{n_rows:,} rows, {n_features:,} features. Classes: {named}{more}."
