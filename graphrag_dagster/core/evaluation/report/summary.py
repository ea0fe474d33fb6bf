"""The first section of the report: the answer, and the few numbers it rests on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.core.evaluation.inference.contrasts import Contrast
from graphrag_dagster.core.evaluation.inference.measures import measure, uses_graph
from graphrag_dagster.core.evaluation.inference.numbers import money, percent, plain, signed
from graphrag_dagster.core.evaluation.inference.statements import tested
from graphrag_dagster.core.evaluation.inference.verdict import best_with_graph, headline, main_measure
from graphrag_dagster.core.evaluation.report.caveats import questions_compared
from graphrag_dagster.core.evaluation.report.content import ReportData, rows_of
from graphrag_dagster.core.evaluation.report.tables import tests
from graphrag_dagster.core.wording import counted

_TOLD = ("judged", "claims", "form")


@dataclass(frozen=True, slots=True)
class Tile:
    """A key figure: the number, what it is, and what it rests on."""

    value: str
    label: str
    note: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The headline, tiles, and the sentences on ``best``, the way with the graph that came out best."""

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
    )
    own = sorted(
        (row for row in rows_of(data.verdicts) if row["condition"] == best),
        key=lambda row: measure(row["measure"]).order,
    )
    told = tuple(row["statement"] for row in own if _is_told(row))
    return Summary(text, tuple(_tiles(data, best)), best, told)


def _is_told(row: dict[str, Any]) -> bool:
    spoken = measure(row["measure"])
    return spoken.kind in _TOLD and not spoken.inclusive


def _tiles(data: ReportData, best: str | None) -> Iterator[Tile]:
    asked = 0 if data.questions is None else data.questions.height
    compared = questions_compared(data)
    ways = counted(len(data.conditions), "way of answering", "ways of answering")
    yield Tile(f"{compared:,}", "questions compared", f"of {asked:,} asked, in {ways}")
    if best is None or data.verdicts is None:
        return
    found = [one for one in tests(data) if one.condition == best and not measure(one.measure).inclusive]
    for one in [one for one in found if measure(one.measure).kind in ("judged", "claims")][:2]:
        yield _difference(one, data.baseline)
    main = main_measure(data.verdicts)
    graph = [row for row in rows_of(data.verdicts) if row["measure"] == main and uses_graph(row["condition"])]
    better = sum(row["outcome"] == "better" for row in graph)
    ahead = "preferred to" if main and measure(main).kind == "judged" else "ahead of"
    yield Tile(
        f"{better} of {len(graph)}",
        f"ways with the graph {ahead} {data.baseline}",
        f"by {measure(main).label if main else ''}, at Holm-corrected p < .05",
    )
    yield from _cost(data, best)


def _difference(one: Contrast, baseline: str) -> Tile:
    spoken = measure(one.measure)
    judged = spoken.kind == "judged"
    bounds, form = (one.win_rate_interval, _rate) if judged else (one.interval, plain)
    note = f"95 % bootstrap interval {form(bounds[0])} to {form(bounds[1])}; " if bounds else ""
    note += tested(one) + ("" if one.outcome in ("better", "worse") else f"; {one.outcome}")
    if judged:
        label = f"of comparisons on {one.measure} won by {one.condition} over {baseline}"
        return Tile(_rate(one.mean), label, note)
    return Tile(signed(one.difference), f"{spoken.label}: {one.condition} against {baseline}", note)


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
