"""The page is served as it stands in service/web: policy, types, revalidation, nothing beside it."""

import httpx2
import pytest


def test_page_comes_with_a_strict_policy(client: httpx2.Client) -> None:
    response = client.get("/")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("path", "media_type"),
    [("main.js", "text/javascript"), ("page.css", "text/css"), ("icon.svg", "image/svg+xml")],
)
def test_files_are_asked_for_again_and_not_sent_again(client: httpx2.Client, path: str, media_type: str) -> None:
    first = client.get(f"/web/{path}")
    assert first.headers["content-type"].startswith(media_type)
    assert first.headers["cache-control"] == "no-cache"
    assert client.get(f"/web/{path}", headers={"If-None-Match": first.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("path", ["nothing.js", "../app.py", "%2e%2e/app.py", "views"])
def test_nothing_beside_the_page_is_served(client: httpx2.Client, path: str) -> None:
    response = client.get(f"/web/{path}")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
