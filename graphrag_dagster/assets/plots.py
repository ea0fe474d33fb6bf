"""Small pictures for an asset's metadata."""

import base64
import io
from collections.abc import Sequence

from dagster import MarkdownMetadataValue, MetadataValue


def histogram(values: Sequence[float], title: str, x_label: str) -> MarkdownMetadataValue:
    """A histogram as an image inside Markdown; says so where there are no values."""
    if not values:
        return MetadataValue.md("no values")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 2.6), dpi=90, layout="constrained")
    axes = figure.add_subplot()
    axes.hist(values, bins=min(30, max(5, len(set(values)))), color="#3b6ea5")
    axes.set(title=title, xlabel=x_label, ylabel="count")
    axes.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return MetadataValue.md(
        f"![{title}](data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()})"
    )
