"""Listens to a page: errors in its console, and requests to anybody but the service."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import Page


@dataclass
class Watch:
    """What was heard."""

    errors: list[str] = field(default_factory=list)
    foreign_requests: list[str] = field(default_factory=list)

    def follow(self, page: Page, url: str) -> None:
        """Listen from now on."""
        page.on("console", lambda message: self.hear(message.type, message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((url, "blob:", "data:")) else self.foreign_requests.append(request.url)
            ),
        )

    def hear(self, kind: str, text: str) -> None:
        """Keep an error, unless the machine's network changed, as when containers start: the page asks again."""
        if kind == "error" and "net::ERR_NETWORK_CHANGED" not in text:
            self.errors.append(text)

    def forgive(self, text: str) -> None:
        """Take out errors that had to happen, such as a refused connection to an API that is away."""
        self.errors = [error for error in self.errors if text not in error]
