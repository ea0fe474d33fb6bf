"""The report as one HTML page without network access, scripts or other files."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from graphrag_dagster.apps.evaluation.inference.headline import headline
from graphrag_dagster.apps.evaluation.inference.judge_reliability import verdict_counts
from graphrag_dagster.apps.evaluation.inference.measure_names import (
    NONE,
    features,
    measure,
    money,
    percent,
    plain,
    reads,
    uses_graph,
    with_sign,
)
from graphrag_dagster.apps.evaluation.inference.verdict import (
    Contrast,
    best_with_graph,
    describe_tests,
    main_measure,
    verdicts,
)
from graphrag_dagster.apps.evaluation.report.caveats import caveats, questions_compared
from graphrag_dagster.apps.evaluation.report.report_examples import examples
from graphrag_dagster.apps.evaluation.report.report_sections import blocks, figures_of
from graphrag_dagster.apps.evaluation.report.result_tables import cost_table, sizes_table
from graphrag_dagster.apps.evaluation.report.table_views import (
    ReportData,
    ReportTable,
    clean,
    image,
    rows_of,
    table,
    tests,
    with_nonbreaking_spaces,
)
from graphrag_dagster.kernel.catalogue.registry import asks_model, engines
from graphrag_dagster.kernel.catalogue.search_methods import FEATURES
from graphrag_dagster.kernel.common.printable import plural

_TEMPLATE = Path(__file__).with_name("page.html.j2")


def render(data: ReportData) -> str:
    """Return the report as HTML; the same data give the same text.

    Whatever texts the data hold, they are escaped (:mod:`.table_views`). Figures are images with an address
    that holds them, so that they cannot share ids nor run anything. Verdicts that are not given follow from
    the tests.
    """
    if data.verdicts is None and data.significance is not None:
        found = verdicts(data.significance, data.conditions, data.baseline, data.judgements)
        data = replace(data, verdicts=found)
    return _template().render(
        data=data,
        summary=summary(data),
        compared=questions_compared(data),
        judged=data.judge_model is not None,
        engine_label=_engine_label,
        ways=_methods_table(data),
        features=_features_table(data),
        questions=_questions(data),
        method=_method(data),
        blocks=blocks(data),
        examples=examples(data),
        cost=cost_table(data),
        sizes=sizes_table(data),
        cost_figures=figures_of(data, "cost"),
        caveats=caveats(data),
        settings=table(
            "Settings that affect these results",
            ("Setting", "value"),
            ([key, str(value)] for key, value in data.settings.items()),
            wordy=True,
        ),
        makers=table(
            "Engines and models", ("Step", "by"), (list(one) for one in data.created_by.items()), wordy=True
        ),
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_template_value,
    )
    environment.filters["image"] = image
    environment.filters["tied"] = with_nonbreaking_spaces
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def _template_value(value: object) -> object:
    """Representation of a value in a template: clean text, with markup unchanged."""
    if isinstance(value, Markup):
        return value
    return clean(value) if isinstance(value, str) else "" if value is None else value


def _methods_table(data: ReportData) -> ReportTable | None:
    return table(
        "Search methods",
        ("Name", "reads", "uses the graph"),
        (
            [
                one,
                reads(one),
                f"{'yes' if uses_graph(one) else 'no'}{'; baseline' if one == data.baseline else ''}",
            ]
            for one in data.conditions
        ),
        wordy=True,
    )


def _features_table(data: ReportData) -> ReportTable | None:
    """Features of each search method, by its declaration; features that none uses are left out."""
    used = {one: features(one) for one in data.conditions}
    shown = [one for one in FEATURES if any(one in own for own in used.values())]
    return table(
        "Features of each search method",
        ("Search method", *shown),
        ([method, *("yes" if one in own else NONE for one in shown)] for method, own in used.items())
        if shown
        else (),
        wordy=True,
    )


def _questions(data: ReportData) -> dict[str, object]:
    """Counts by origin, the people, and five questions spread over the list."""
    rows = sorted(rows_of(data.questions), key=lambda row: row["position"])
    names = {
        "settings": "from corpus.yaml",
        "file": "from a file",
        "testset": "written from single documents, with reference answers",
        "written": "written from the description",
    }
    origins = [
        f"{number:,} {names[origin]}"
        for origin in names
        if (number := sum(row["origin"] == origin for row in rows))
    ]
    places = sorted({at * (len(rows) - 1) // 4 for at in range(5)}) if rows else []
    people = sorted(rows_of(data.personas), key=lambda row: row["position"])
    return {
        "asked": len(rows),
        "origins": origins,
        "people": [(one["name"], one["description"]) for one in people],
        "sample": [rows[at]["question"] for at in places],
    }


def _method(data: ReportData) -> dict[str, object]:
    """Measures that were taken, so that only these are explained."""
    names = [] if data.condition_means is None else sorted(set(data.condition_means["measure"]))
    spoken = [measure(name) for name in names]
    replicates = 0
    if data.comparisons is not None and data.comparisons.height:
        replicates = data.comparisons.select(pl.col("replicates").max()).item()
    normality = [row for row in rows_of(data.condition_means) if row["shapiro_p"] is not None]
    families = [] if data.quality_scores is None else sorted(set(data.quality_scores["family"]))
    return {
        "replicates": replicates,
        "claims": any(one.kind == "claims" for one in spoken),
        "proxy": not asks_model(data.claim_engine) or any(one.proxy for one in spoken),
        "families": families,
        "metrics": [one for one in families if one != "lexical"],
        "normality": (len(normality), sum(row["shapiro_p"] < 0.05 for row in normality)),
    }


def _engine_label(name: str) -> str:
    if name not in engines():
        return name
    told = engines()[name].text
    return told if asks_model(name) else f"the {name} engine: {told}"


_TOLD = ("judged", "claims", "form")


@dataclass(frozen=True, slots=True)
class Tile:
    """A key figure: the number, what it is, and what it rests on."""

    value: str
    label: str
    note: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The headline, tiles, and the sentences on ``best``, the method with the graph that came out best."""

    headline: str
    tiles: tuple[Tile, ...]
    best: str | None
    statements: tuple[str, ...]


def summary(data: ReportData) -> Summary:
    """Return the first section."""
    best = None if data.verdicts is None else best_with_graph(data.verdicts)
    text = headline(
        data.verdicts,
        questions=questions_compared(data),
        judged=data.judge_model is not None,
        baseline=data.baseline,
        judgements=data.judgements,
    )
    own = sorted(
        (row for row in rows_of(data.verdicts) if row["condition"] == best),
        key=lambda row: measure(row["measure"]).order,
    )
    told = tuple(row["statement"] for row in own if _is_shown(row))
    return Summary(text, tuple(_tiles(data, best)), best, told)


def _is_shown(row: dict[str, Any]) -> bool:
    spoken = measure(row["measure"])
    return spoken.kind in _TOLD and not spoken.inclusive


def _tiles(data: ReportData, best: str | None) -> Iterator[Tile]:
    asked = 0 if data.questions is None else data.questions.height
    compared = questions_compared(data)
    ways = plural(len(data.conditions), "search method", "search methods")
    yield Tile(f"{compared:,}", "questions compared", f"of {asked:,} asked, in {ways}")
    if data.judgements is not None and (lost := verdict_counts(data.judgements)).unusable:
        of = f"{lost.unusable:,} of {lost.verdicts:,}"
        yield Tile(of, "verdicts without a usable reply of the judge", "they count as ties")
    if best is None or data.verdicts is None:
        return
    found = [one for one in tests(data) if one.condition == best and not measure(one.measure).inclusive]
    for one in [one for one in found if measure(one.measure).kind in ("judged", "claims")][:2]:
        yield _difference(one, data.baseline)
    main = main_measure(data.verdicts)
    graph = [row for row in rows_of(data.verdicts) if row["measure"] == main and uses_graph(row["condition"])]
    better = sum(row["outcome"] == "better" for row in graph)
    is_known = any(row["outcome"] != "unknown" for row in graph)
    ahead = "preferred to" if main and measure(main).kind == "judged" else "ahead of"
    yield Tile(
        f"{better} of {len(graph)}" if is_known else "?",
        f"methods with the graph {ahead} {data.baseline}",
        f"by {measure(main).label if main else ''}, at Holm-corrected p < .05",
    )
    yield from _cost(data, best)


def _difference(one: Contrast, baseline: str) -> Tile:
    spoken = measure(one.measure)
    judged = spoken.kind == "judged"
    bounds, form = (one.win_rate_interval, _rate) if judged else (one.interval, plain)
    note = f"95 % bootstrap interval {form(bounds[0])} to {form(bounds[1])}; " if bounds else ""
    note += describe_tests(one) + ("" if one.outcome in ("better", "worse") else f"; {one.outcome}")
    if judged:
        label = f"of comparisons on {one.measure} won by {one.condition} over {baseline}"
        return Tile("?" if one.doubt else _rate(one.mean), label, one.doubt or note)
    return Tile(with_sign(one.difference), f"{spoken.label}: {one.condition} against {baseline}", note)


def _rate(value: float) -> str:
    return percent(value, 0)


def _cost(data: ReportData, best: str) -> Iterator[Tile]:
    costs = {row["condition"]: row for row in rows_of(data.condition_costs)}
    if best not in costs or data.baseline not in costs or not costs[data.baseline]["context_tokens"]:
        return
    own, base = costs[best], costs[data.baseline]
    note = f"{plain(own['context_tokens'])} against {plain(base['context_tokens'])} tokens of context"
    if own["usd"] is not None and base["usd"] is not None:
        note += f"; {money(own['usd'])} against {money(base['usd'])} an answer"
    times = own["context_tokens"] / base["context_tokens"]
    yield Tile(f"{plain(times)} ×", f"as much read by {best} as by {data.baseline} for an answer", note)
