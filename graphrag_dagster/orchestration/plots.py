"""Small pictures for an asset's metadata."""

import base64
from collections.abc import Sequence
from html import escape

import numpy as np
from dagster import MarkdownMetadataValue, MetadataValue

_MOST_BINS, _FEWEST_BINS = 30, 5
_WIDTH, _HEIGHT = 450, 234
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 30, 42


def histogram(values: Sequence[float], title: str, x_label: str) -> MarkdownMetadataValue:
    """A histogram as an SVG image inside Markdown; says so where there are no values."""
    if not values:
        return MetadataValue.md("no values")
    bins = min(_MOST_BINS, max(_FEWEST_BINS, len(set(values))))
    counts, edges = np.histogram(values, bins=bins)
    picture = base64.b64encode(_svg(counts.tolist(), edges.tolist(), title, x_label).encode()).decode()
    return MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{picture})")


def _svg(counts: Sequence[int], edges: Sequence[float], title: str, x_label: str) -> str:
    wide, high, base = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM, _HEIGHT - _BOTTOM
    step, highest = wide / len(counts), max(counts)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="11" fill="#333">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        _text(_WIDTH / 2, 18, title, size=13),
    ]
    for place, count in enumerate(counts):
        tall = count / highest * high
        parts.append(
            f'<rect x="{_LEFT + place * step:.1f}" y="{base - tall:.1f}" width="{step * 0.92:.1f}" '
            f'height="{tall:.1f}" fill="#3b6ea5"><title>{count}</title></rect>'
        )
    parts.append(f'<path d="M{_LEFT} {_TOP}V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="#333"/>')
    for share in (0.0, 0.5, 1.0):
        edge = edges[0] + share * (edges[-1] - edges[0])
        parts.append(_text(_LEFT + share * wide, base + 15, f"{edge:,.4g}"))
    parts += [
        _text(_LEFT - 5, _TOP + 4, f"{highest:,}", anchor="end"),
        _text(_LEFT - 5, base + 4, "0", anchor="end"),
        _text(_LEFT + wide / 2, _HEIGHT - 8, x_label),
        "</svg>",
    ]
    return "".join(parts)


def _text(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'
