"""What ECharts was given, and what it made of it, for tests in the browser."""

from typing import Any

_TEXTS = """([id, wanted]) => {
    const chart = getElement(id).chart;
    return chart.getZr().storage.getDisplayList(true)
        .filter((shape) => shape.style?.text === wanted)
        .map((shape) => {
            const box = shape.getBoundingRect().clone();
            if (shape.transform) box.applyTransform(shape.transform);
            return { x: box.x, y: box.y, right: box.x + box.width, bottom: box.y + box.height,
                     width: chart.getWidth(), height: chart.getHeight() };
        });
}"""


def options_of(page, selector: str) -> dict[str, Any]:
    """What the first chart there was given."""
    return page.evaluate(f"getElement({_number(page, selector)}).options")


def texts_of(page, selector: str, text: str) -> list[dict[str, float]]:
    """Where in the first chart there a text stands, in pixels, and how large the chart is."""
    return page.evaluate(_TEXTS, [_number(page, selector), text])


def _number(page, selector: str) -> int:
    return int(page.locator(selector).first.get_attribute("id")[1:])
