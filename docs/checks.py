"""Checks the built site: `python docs/checks.py build/docs`.

Every link inside the site leads to a page and a place that are there, and no page loads anything from another host.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {"audio", "embed", "iframe", "img", "input", "object", "script", "source", "track", "video"}
LOADED_LINKS = {"icon", "manifest", "modulepreload", "preload", "prefetch", "preconnect", "stylesheet"}
STYLE_ADDRESS = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


@dataclass
class Page(HTMLParser):
    """What a page links to, loads and names."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        given = {name: value or "" for name, value in attributes}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        address = given.get("href" if tag in ("a", "link") else "src", given.get("data", ""))
        if tag == "a":
            self.links.append(address)
        elif tag in LOADING or (tag == "link" and LOADED_LINKS & set(given.get("rel", "").split())):
            self.loaded.append(address)
        self.loaded += STYLE_ADDRESS.findall(given.get("style", ""))


def main(site: Path) -> None:
    """Look at everything, and say all that is wrong."""
    pages = {path: read(path) for path in sorted(site.resolve().rglob("*.html"))}
    problems = [problem for path, page in pages.items() for problem in problems_of(path, page, pages)]
    for path in sorted(site.rglob("*.css")):
        problems += [f"{path}: loads {address}" for address in STYLE_ADDRESS.findall(path.read_text())]
    if not pages:
        problems.append(f"{site}: there are no pages")
    if problems:
        sys.exit("\n".join(problems))


def read(path: Path) -> Page:
    """A page."""
    page = Page()
    page.feed(path.read_text())
    return page


def problems_of(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """What is wrong with a page."""
    yield from (f"{path}: loads {address}" for address in page.loaded if is_foreign(address))
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            yield f"{path}: {link} leads nowhere"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
            yield f"{path}: {link} leads to no place on that page"


def is_foreign(address: str) -> bool:
    """Is it on another host?"""
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https", "ws", "wss")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
