import base64
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.orchestration.plots import histogram


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200))
def test_a_histogram_is_a_picture_whose_bars_count_every_value(values: list[int]) -> None:
    shown = histogram(values, "Sizes <of> things", "tokens & more").value
    data = shown.partition("base64,")[2].removesuffix(")")
    picture = ElementTree.fromstring(base64.b64decode(data))  # noqa: S314 - made here.
    bars = picture.findall(".//{http://www.w3.org/2000/svg}title")
    assert sum(int(bar.text or 0) for bar in bars) == len(values)


def test_nothing_is_said_to_be_nothing() -> None:
    assert histogram([], "Sizes", "tokens").value == "no values"
