"""WebGL under the strict policy: points are drawn, many of them stay smooth, and a browser without it is told."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import FIT_TIMEOUT, fit, fit_sample
from tests.running_service import RunningService

DRAW_MANY = """async (count) => {
    const { PointLayer } = await import(new URL("web/picture/points.js", document.baseURI));
    const canvas = document.body.appendChild(document.createElement("canvas"));
    canvas.style.width = canvas.style.height = "600px";
    const layer = new PointLayer(canvas);
    layer.setPoints({
        numbers: new Float32Array(4 * count).map((_, i) => (i % 4 < 2 ? 2 * Math.random() - 1 : 0)),
        color: new Uint8Array(4 * count).map((_, i) => (i % 4 < 3 ? 128 : 255)),
        style: new Uint8Array(4 * count).map((_, i) => [0, 0, 40, 0][i % 4]),
    });
    const view = Float32Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
    const pixels = new Uint8Array(4 * 100 * 100);
    const frames = [];
    for (let frame = 0; frame < 10; frame += 1) {
        const begin = performance.now();
        layer.draw(view, 0.7);
        frames.push(performance.now() - begin);
    }
    layer.gl.readPixels(200, 200, 100, 100, layer.gl.RGBA, layer.gl.UNSIGNED_BYTE, pixels);
    const covered = pixels.filter((alpha, i) => i % 4 === 3 && alpha).length / 10000;
    return { milliseconds: Math.min(...frames), covered, error: layer.gl.getError() };
}"""


def test_policy_allows_no_code_from_strings(page: Page, service: RunningService) -> None:
    policy = page.request.get(service.url).headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy


def test_two_hundred_thousand_points(page: Page) -> None:
    drawn = page.evaluate(DRAW_MANY, 200_000)
    assert drawn["error"] == 0
    assert 0.5 < drawn["covered"] < 1  # of the pixels in the middle of a cloud that dense
    assert drawn["milliseconds"] < 16  # the page's share of a frame; the rest is the graphics card's


DENSITY = """async (count) => {
    const { PointLayer } = await import(new URL("web/picture/points.js", document.baseURI));
    const canvas = document.body.appendChild(document.createElement("canvas"));
    canvas.style.width = canvas.style.height = "150px";
    const layer = new PointLayer(canvas);
    const dense = (at) => at % 8 > 0; // most points lie on the left
    layer.setPoints({
        numbers: new Float32Array(4 * count).map((_, i) => {
            if (i % 4 === 0) return dense(i >> 2) ? -Math.random() : Math.random();
            return i % 4 === 1 ? 2 * Math.random() - 1 : 0;
        }),
        color: new Uint8Array(4 * count).map((_, i) => [0, 114, 178, 255][i % 4]),
        style: new Uint8Array(4 * count).map((_, i) => [0, 0, 40, 0][i % 4]),
    });
    const view = Float32Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
    const strength = (left) => {
        const pixels = new Uint8Array(4 * 30 * 30);
        layer.gl.readPixels(left, 60, 30, 30, layer.gl.RGBA, layer.gl.UNSIGNED_BYTE, pixels);
        const alphas = pixels.filter((_, i) => i % 4 === 3);
        return alphas.reduce((sum, value) => sum + value, 0) / alphas.length / 255;
    };
    const means = (most) => (layer.draw(view, 0.7, undefined, most), [strength(20), strength(100)]);
    return { shaded: means(100), plain: means(0), error: layer.gl.getError() };
}"""


def test_shading_shows_density_where_points_overlap(page: Page) -> None:
    drawn = page.evaluate(DENSITY, 100_000)
    assert drawn["error"] == 0
    dense, thin = drawn["shaded"]
    assert dense > 1.3 * thin  # seven times as many points
    plain_dense, plain_thin = drawn["plain"]
    assert plain_dense < 1.1 * plain_thin  # both are covered: their numbers could not be told apart


def test_without_webgl_the_page_says_so(browser: Browser, service: RunningService) -> None:
    context = browser.new_context()
    context.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page = context.new_page()
    page.goto(f"{service.url}/#/samples/iris")
    fit(page)
    expect(page.get_by_text("This browser has no WebGL, which the picture needs.")).to_be_visible(timeout=FIT_TIMEOUT)
    context.close()


def test_picture_answers_to_the_keyboard(page: Page, service: RunningService) -> None:
    fit_sample(page, service.url, "iris")
    page.locator(".stage canvas").focus()
    before = page.locator(".stage .tick").all_text_contents()
    for _ in range(3):
        page.keyboard.press("+")
    expect(page.locator(".stage .tick").first).not_to_have_text(before[0])
    page.keyboard.press("0")
    expect(page.locator(".stage .tick").first).to_have_text(before[0])
