import base64
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.pipeline.result_display import histogram, treemap

SVG = "http://www.w3.org/2000/svg"


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200))
def test_a_histogram_is_a_picture_whose_bars_count_every_value(values: list[int]) -> None:
    shown = histogram(values, "Sizes <of> things", "tokens & more")
    bars = _picture(shown).findall(f".//{{{SVG}}}title")
    assert sum(int(bar.text or 0) for bar in bars) == len(values)


def test_nothing_is_said_to_be_nothing() -> None:
    assert histogram([], "Sizes", "tokens") == "no values"


def _picture(markdown: str) -> ElementTree.Element:
    data = markdown.partition("base64,")[2].removesuffix(")")
    return ElementTree.fromstring(base64.b64decode(data))  # noqa: S314 - made here.


@given(
    st.lists(
        st.tuples(st.text(max_size=300), st.integers(1, 50_000), st.none() | st.floats(-1, 11)),
        min_size=1,
        max_size=30,
    )
)
def test_a_treemap_is_a_picture_with_every_community_whatever_its_name(
    cells: list[tuple[str, int, float | None]],
) -> None:
    cells.sort(key=lambda one: -one[1])
    titles = [one.text or "" for one in _picture(treemap(cells, "C0")).iter(f"{{{SVG}}}title")]
    assert len(titles) == len(cells)
    for told, (_, size, _) in zip(titles, cells, strict=True):
        assert f"{size:,} members" in told


def test_no_communities_are_said_to_be_none() -> None:
    assert treemap([], "C0") == "no communities"


@pytest.mark.parametrize(
    "values",
    [
        [1e308, -1e308], [float("nan")], [float("inf"), 1.0, 2.0], [5e-324, 1e-323], [1e16, 1e16 + 2], [1.0, None],
        [1e300, 1.0], [0.0] * 9,
    ],
)  # fmt: skip
def test_a_histogram_ends_no_run_whatever_the_values(values: list[float]) -> None:
    assert histogram(values, "weights", "weight")


def test_what_cannot_be_drawn_says_so() -> None:
    assert treemap([("a", 0, None)], "C0").startswith("this could not be drawn: ")
    left_out = histogram([1.0, 2.0, float("nan")], "weights", "weight")
    assert left_out.endswith("1 values that are too large, or not numbers, are omitted")
