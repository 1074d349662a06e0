"""The interactive reference: it is drawn under the policy, asks no other host, and a call can be made from it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.running_service import RunningService


def test_an_operation_is_tried_from_the_reference(page: Page, service: RunningService) -> None:
    page.get_by_role("link", name="HTTP interface").click()
    expect(page.get_by_role("heading", name="melm", exact=False).first).to_be_visible()
    operation = page.locator("#operations-operation-getHealth")
    operation.get_by_role("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").last).to_contain_text("200")


def test_every_operation_is_shown(page: Page, service: RunningService) -> None:
    document = page.request.get(f"{service.url}/openapi.json").json()
    page.goto(f"{service.url}/docs")
    expect(page.locator(".opblock")).to_have_count(sum(map(len, document["paths"].values())))
