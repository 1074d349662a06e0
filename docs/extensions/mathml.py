"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, nothing from another host."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer, for the builder of HTML."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext()))
    raise _skip()


def _block(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    skip: Exception = SkipNode()
    return skip
