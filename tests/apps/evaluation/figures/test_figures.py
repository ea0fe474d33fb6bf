import struct
from itertools import combinations, pairwise
from xml.etree import ElementTree

import matplotlib
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.figures.community_maps import community_maps, parent_colours, shades
from graphrag_dagster.apps.evaluation.figures.figure_style import Figure, format_axis_number
from graphrag_dagster.apps.evaluation.figures.gleaning_figure import gleaning_lines
from graphrag_dagster.apps.evaluation.figures.measure_bars import measure_bars
from graphrag_dagster.apps.evaluation.figures.scatter_plots import (
    cost_against_quality,
    spread,
    ticks,
)
from graphrag_dagster.apps.evaluation.figures.win_rate_maps import win_rate_maps, window_bars
from graphrag_dagster.apps.evaluation.inference.verdict import overall_winners

CONDITIONS = ["C0", "C1", "TS", "SS"]
SVG = "{http://www.w3.org/2000/svg}"


def parsed(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(figure.svg)  # noqa: S314 - we wrote it


def texts(figure: Figure) -> list[str]:
    return [text.text or "" for text in parsed(figure).iter(f"{SVG}text")]


def drawn(figure: Figure | None) -> Figure:
    """Check what holds of every figure."""
    assert figure is not None
    assert figure.png.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", figure.png[16:24])
    root = parsed(figure)
    assert wide == 1400
    assert root.get("width") == "525pt"
    assert abs(float(root.get("height", "").removesuffix("pt")) * 192 / 72 - high) <= 3
    assert root.get("role") == "img"
    assert root.get("aria-label") == figure.alt
    assert figure.title
    assert figure.caption.endswith(".")
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert not list(root.iter(f"{SVG}style"))
    return figure


def win_rates(
    rates: dict[tuple[str, str], float], criteria: tuple[str, ...] = ("diversity",)
) -> pl.DataFrame:
    rows = [
        row
        for criterion in criteria
        for (a, b), rate in rates.items()
        for row in ((criterion, a, b, rate), (criterion, b, a, 100 - rate))
    ]
    schema = {"criterion": pl.String, "condition": pl.String, "opponent": pl.String, "win_rate": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def significance(*rows: tuple[str, str, str, bool]) -> pl.DataFrame:
    schema = {
        "measure": pl.String,
        "condition_a": pl.String,
        "condition_b": pl.String,
        "significant": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def means(*rows: tuple[str, str, float | None, float | None, float | None]) -> pl.DataFrame:
    schema = {
        "measure": pl.String,
        "condition": pl.String,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def costs(*rows: tuple[str, float, float, float, float | None]) -> pl.DataFrame:
    schema = {
        "condition": pl.String,
        "context_tokens": pl.Float64,
        "input_tokens": pl.Float64,
        "output_tokens": pl.Float64,
        "usd": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


RATES = {("C0", "SS"): 72.0, ("C0", "TS"): 49.6, ("TS", "SS"): 83.12}


def test_win_rates_of_both_directions_stand_in_the_cells() -> None:
    tested = significance(
        ("diversity", "C0", "SS", True), ("diversity", "C0", "TS", False), ("claims", "SS", "TS", True)
    )
    figure = drawn(win_rate_maps(win_rates(RATES), tested, CONDITIONS))
    found = texts(figure)
    assert {"Diversity", "72*", "28*", "83", "17"} <= set(found)
    assert found.count("50") == 3  # both directions of 49.6 and the key; the diagonal is blank
    assert found.count("SS") == 2
    assert "C1" not in found
    assert "–" not in found
    assert "TS 67, C0 61, SS 22" in figure.alt


def bold(figure: Figure) -> list[str]:
    return [
        text.text or ""
        for text in parsed(figure).iter(f"{SVG}text")
        if "font-weight: 700" in text.get("style", "")
    ]


def test_bold_is_the_overall_winner_and_a_star_what_is_significant() -> None:
    tested = significance(("diversity", "C0", "SS", True))
    figure = drawn(win_rate_maps(win_rates(RATES), tested, CONDITIONS))
    assert bold(figure) == ["TS", "50", "83", "Diversity"]
    assert "Bold is the overall winner" in figure.caption
    even = dict.fromkeys(RATES, 50.0)
    assert bold(drawn(win_rate_maps(win_rates(even), tested, CONDITIONS))) == ["Diversity"]


def test_the_winners_are_those_of_the_papers_matrix() -> None:
    podcast = {
        ("SS", "TS"): 17, ("SS", "C0"): 28, ("SS", "C1"): 25, ("SS", "C2"): 22, ("SS", "C3"): 21,
        ("TS", "C0"): 50, ("TS", "C1"): 48, ("TS", "C2"): 43, ("TS", "C3"): 44, ("C0", "C1"): 53,
        ("C0", "C2"): 50, ("C0", "C3"): 49, ("C1", "C2"): 52, ("C1", "C3"): 50, ("C2", "C3"): 52,
    }  # fmt: skip
    rates = win_rates({pair: float(rate) for pair, rate in podcast.items()})
    order = ["C0", "C1", "C2", "C3", "TS", "SS"]
    assert overall_winners(rates, "diversity", order) == ["C2"]
    assert overall_winners(rates, "diversity", ["C0", "TS"]) == []
    assert overall_winners(rates, "directness", order) == []


def test_criteria_have_the_papers_order_and_missing_pairs_are_dashes() -> None:
    criteria = ("novelty", "directness", "comprehensiveness")
    rates = {pair: rate for pair, rate in RATES.items() if pair != ("C0", "TS")}
    figure = drawn(win_rate_maps(win_rates(rates, criteria), significance(), CONDITIONS))
    found = texts(figure)
    titles = [text for text in found if text.lower() in criteria]
    assert titles == ["Comprehensiveness", "Directness", "Novelty"]
    assert found.count("–") == 6
    assert "not judged" in figure.caption


def test_no_map_without_a_judged_pair() -> None:
    assert win_rate_maps(win_rates({}), significance(), CONDITIONS) is None
    assert win_rate_maps(win_rates(RATES), significance(), ["C0", "C1"]) is None


def test_names_may_hold_any_characters() -> None:
    names = ['<a & "b">', "$x_1$", "it's"]
    figure = drawn(win_rate_maps(win_rates({(names[0], names[1]): 61.0}), significance(), names))
    assert texts(figure).count("$x_1$") == 2
    assert texts(figure).count('<a & "b">') == 2


def test_same_bytes_whatever_the_order_of_rows_and_the_users_settings() -> None:
    rates, tested = win_rates(RATES), significance(("diversity", "C0", "SS", True))
    once = win_rate_maps(rates, tested, CONDITIONS)
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 20, "svg.fonttype": "path", "axes.grid": True}):
        again = win_rate_maps(rates.reverse(), tested, CONDITIONS)
    assert once == again
    assert dict(matplotlib.rcParams) == before


MEANS = means(
    ("claims", "C0", 34.18, 33.0, 35.3),
    ("claims", "TS", 32.89, 31.0, 34.0),
    ("claims", "SS", 25.23, 24.1, 26.2),
    ("clusters_0.5", "C0", 23.42, 22.0, 24.4),
    ("clusters_0.5", "TS", None, None, None),
    ("clusters_0.5", "SS", 17.92, None, None),
    ("words", "C1", None, None, None),
)


def test_bars_show_means_and_mark_what_differs_from_the_baseline() -> None:
    tested = significance(
        ("claims", "C0", "SS", True), ("claims", "C0", "TS", True), ("clusters_0.5", "C0", "SS", False)
    )
    measures = ["claims", "clusters_0.5", "words"]
    figure = drawn(measure_bars(MEANS, tested, measures, CONDITIONS, "SS"))
    found = texts(figure)
    assert {"Claims", "Clusters 0.5", "34.2*", "32.9", "25.2", "23.4", "17.9", "–"} <= set(found)
    assert [text for text in found if text in CONDITIONS] == ["C0", "TS", "SS"]
    assert "Words" not in found
    assert "* differs from SS" in figure.caption
    assert figure == measure_bars(MEANS.reverse(), tested, measures, CONDITIONS, "SS")


def test_shares_are_drawn_on_one_scale_under_a_name_of_their_own() -> None:
    shares = MEANS.with_columns(pl.col("mean", "ci_low", "ci_high") / 100)
    measures = ["claims", "clusters_0.5"]
    figure = drawn(
        measure_bars(
            shares,
            significance(),
            measures,
            CONDITIONS,
            "SS",
            top=1.0,
            name="quality",
            title="Of it",
            note="So.",
        )
    )
    assert (figure.name, figure.title) == ("quality", "Of it")
    assert figure.caption.endswith("p < .05). Dashes mean that there is no value. So.")
    assert texts(figure).count("1.00") == 2


def test_no_bars_of_one_condition() -> None:
    assert measure_bars(MEANS, significance(), ["claims"], ["C0", "C1"], "SS") is None
    assert measure_bars(MEANS.clear(), significance(), ["claims"], CONDITIONS, "SS") is None
    assert measure_bars(MEANS, significance(), [], CONDITIONS, "SS") is None


def counts(points: dict[tuple[int, str, int], tuple[int, int | None]]) -> pl.DataFrame:
    rows = [(*key, *found) for key, found in points.items()]
    schema = {
        "chunk_size": pl.Int32,
        "mode": pl.String,
        "gleanings": pl.Int32,
        "entities": pl.Int32,
        "distinct_entities": pl.Int32,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


GLEANED = {
    (600, "checked", 0): (15500, 6100),
    (600, "checked", 1): (22000, 7000),
    (2400, "checked", 0): (7900, 4800),
    (2400, "checked", 1): (14000, 6200),
    (2400, "checked", 2): (19500, 6900),
}


def test_gleanings_are_lines_of_references_and_of_distinct_names_by_chunk_size() -> None:
    figure = drawn(gleaning_lines(counts(GLEANED)))
    found = texts(figure)
    assert [text for text in found if text.endswith(" tokens")] == ["600 tokens", "2,400 tokens"] * 2
    assert {"Entity references", "Distinct entities", "0", "1", "2", "gleanings", "20k"} <= set(found)
    assert "7,900 references (4,800 distinct) at 0, 14,000 (6,200) at 1, 19,500 (6,900) at 2" in figure.alt
    assert "Dashed" not in figure.caption
    assert figure == gleaning_lines(counts(GLEANED).reverse())


def test_a_line_is_of_one_mode() -> None:
    forced = {(size, "forced", last): (3 * n, m) for (size, _, last), (n, m) in GLEANED.items()}
    figure = drawn(gleaning_lines(counts(GLEANED | forced)))
    assert "Chunks of 600 tokens: 15,500 references (6,100 distinct) at 0, 22,000 (7,000) at 1." in figure.alt
    assert "Chunks of 600 tokens, always made: 46,500 references (6,100 distinct) at 0" in figure.alt
    assert "Dashed" in figure.caption
    dashes = [line for line in parsed(figure).iter(f"{SVG}path") if "stroke-dasharray" in str(line.attrib)]
    assert len(dashes) == 4


def test_without_gleanings_there_is_a_bar_per_chunk_size() -> None:
    ungleaned = {(2400, "checked", 0): (7900, 4800), (600, "checked", 0): (15500, 9100)}
    found = texts(drawn(gleaning_lines(counts(ungleaned))))
    assert {"600 tokens", "2,400 tokens", "15,500", "9,100", "7,900", "4,800"} <= set(found)
    assert "gleanings" not in found
    assert gleaning_lines(counts({})) is None


def test_windows_are_sorted_by_size() -> None:
    schema = ["criterion", "window", "win_rate"]
    rows = [("diversity", "16000", 47.6), ("diversity", "8000", 52.4), ("comprehensiveness", "8000", 58.1)]
    rates = pl.DataFrame(rows, schema=schema, orient="row")
    found = texts(drawn(window_bars(rates)))
    assert [text for text in found if text.endswith(",000")] == ["8,000", "16,000"]
    assert {"58.1", "52.4", "47.6", "–"} <= set(found)
    assert found.index("Comprehensiveness") < found.index("Diversity")
    assert window_bars(rates.filter(pl.col("window") == "8000")) is None
    assert window_bars(rates.clear()) is None


def test_costs_show_the_first_cost_that_most_conditions_have() -> None:
    spent = costs(("C0", 27e3, 30e3, 2e3, None), ("TS", 1e6, 1.1e6, 9e3, 2.5), ("SS", 8e3, 9e3, 5e2, 0.02))
    figure = drawn(cost_against_quality(spent, MEANS, "claims", CONDITIONS))
    found = texts(figure)
    assert [text for text in found if text in CONDITIONS] == ["C0", "TS", "SS"]
    assert "tokens sent and received per answer (logarithmic)" in found
    assert {"10k", "100k", "1M"} <= set(found)
    assert "Without both: C1." in figure.caption
    unsent = spent.with_columns(input_tokens=0.0, output_tokens=0.0, context_tokens=0.0)
    dollars = drawn(cost_against_quality(unsent, MEANS, "claims", CONDITIONS))
    assert "Without both: C0, C1." in dollars.caption
    unasked = spent.with_columns(input_tokens=0.0, output_tokens=0.0, usd=None)
    context = drawn(cost_against_quality(unasked, MEANS, "claims", CONDITIONS))
    assert "tokens of context per answer (logarithmic)" in texts(context)


def test_no_costs_of_one_condition() -> None:
    spent = costs(("C0", 27e3, 30e3, 2e3, None), ("TS", 1e6, 1.1e6, 9e3, 2.5))
    assert cost_against_quality(spent, MEANS, "clusters_0.5", CONDITIONS) is None
    assert cost_against_quality(spent.clear(), MEANS, "claims", CONDITIONS) is None


@given(st.floats(1e-6, 1e8), st.floats(1.3, 1e9))
def test_ticks_are_few_and_inside(low: float, factor: float) -> None:
    found = ticks(low, low * factor)
    assert 1 <= len(found) <= 7
    assert all(low <= tick <= low * factor for tick in found)
    assert found == sorted(set(found))


def test_short_numbers() -> None:
    values = [0, 0.002, 0.00002, 50, 999, 1000, 12345, 1.5e6, 2e9, -1500]
    assert [format_axis_number(value) for value in values] == [
        "0", "0.002", "2e-05", "50", "999", "1k", "12.35k", "1.5M", "2G", "-1.5k",
    ]  # fmt: skip


@given(st.lists(st.floats(-1e3, 1e3), max_size=12), st.floats(0.1, 50))
def test_spread_positions_keep_their_order_and_distance(positions: list[float], gap: float) -> None:
    moved = spread(positions, gap)
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    assert all(moved[b] - moved[a] >= gap * (1 - 1e-6) for a, b in pairwise(order))
    assert sum(moved) == pytest.approx(sum(positions), abs=1e-6)


def test_positions_far_enough_apart_do_not_move() -> None:
    assert spread([5.0, 1.0, 9.0], 2.0) == [5.0, 1.0, 9.0]
    assert spread([1.0, 1.0], 2.0) == [0.0, 2.0]


def graph(groups: int = 3, size: int = 6, stray: int = 2) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """A ring of cliques, each of two halves at level 1, and a pair apart."""
    names = [f"n{group}.{member}" for group in range(groups) for member in range(size)]
    edges = [pair for group in range(groups) for pair in combinations(names[group * size :][:size], 2)]
    edges += [(names[group * size], names[(group + 1) % groups * size]) for group in range(groups)]
    apart = [f"z{member}" for member in range(stray)]
    edges += list(combinations(apart, 2))
    degrees = {name: sum(name in pair for pair in edges) for name in names + apart}
    entities = pl.DataFrame({"entity_id": list(degrees), "degree": list(degrees.values())})
    relationships = pl.DataFrame(
        [(a, b, 1.0 + index % 3) for index, (a, b) in enumerate(edges)],
        schema=["source_id", "target_id", "weight"],
        orient="row",
    )
    levels = [(0, name, f"a{name[:2]}") for name in names + apart]
    levels += [(1, name, f"b{name[:2]}{int(name[-1]) < size // 2}") for name in names]
    levels += [(1, name, f"a{name[:2]}") for name in apart]
    community_levels = pl.DataFrame(levels, schema=["level", "entity_id", "community_id"], orient="row")
    return entities, relationships, community_levels


def test_the_largest_component_is_drawn_at_two_levels() -> None:
    figure = drawn(community_maps(*graph()))
    assert texts(figure) == ["Level 0: 3 communities", "Level 1: 6 communities"]
    assert figure.caption.startswith(
        "The 18 entities of the largest component (20 entities in all) and their 48 relationships"
    )
    assert figure.svg.count("data:image/png;base64,") == 2


def test_the_same_graph_in_another_order_gives_the_same_bytes() -> None:
    entities, relationships, levels = graph()
    turned = relationships.reverse().rename({"source_id": "target_id", "target_id": "source_id"})
    assert community_maps(*graph()) == community_maps(entities.reverse(), turned, levels.reverse())


def test_of_many_nodes_the_best_linked_are_drawn() -> None:
    figure = drawn(community_maps(*graph(), most_nodes=12))
    assert "best linked of the 18 entities" in figure.caption


def test_no_graph_without_linked_nodes() -> None:
    entities, relationships, levels = graph()
    assert community_maps(entities, relationships.clear(), levels) is None
    assert community_maps(entities, relationships, levels.clear()) is None
    assert community_maps(entities.clear(), relationships.clear(), levels.clear()) is None


def test_linked_communities_differ_in_colour_and_children_are_shades() -> None:
    roots = np.repeat(np.arange(8), 3)
    nodes = np.arange(24)
    source, target = np.array(list(combinations(range(24), 2))).T
    parents = parent_colours(roots, source, target)
    assert len(np.unique(parents, axis=0)) == 8
    children = np.where(roots < 4, nodes, 100 + roots)
    _, children = np.unique(children, return_inverse=True)
    colours = shades(parents, roots, children)
    assert len(np.unique(colours[roots < 4], axis=0)) == 12
    assert np.array_equal(colours[roots >= 4], parents[roots[roots >= 4]])
    assert ((colours >= 0) & (colours <= 1)).all()
