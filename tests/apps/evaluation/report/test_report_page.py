"""The page of the report, from frames that the real statistics made of invented answers."""

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from bs4 import BeautifulSoup, Tag
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.inference.headline import headline
from graphrag_dagster.apps.evaluation.inference.paired_tests import (
    PairTest,
    pairwise,
    pairwise_scores,
    shapiro_wilk,
)
from graphrag_dagster.apps.evaluation.inference.verdict import verdicts
from graphrag_dagster.apps.evaluation.measures.pairwise_judging import comparisons as planned
from graphrag_dagster.apps.evaluation.measures.pairwise_judging import position_bias
from graphrag_dagster.apps.evaluation.report.published_figures import published_context_table
from graphrag_dagster.apps.evaluation.report.report_page import render
from graphrag_dagster.apps.evaluation.report.table_views import ReportData, clean, image, render_markdown
from graphrag_dagster.apps.evaluation.tasks import CRITERIA
from graphrag_dagster.kernel.common.bootstrap_intervals import mean_interval
from graphrag_dagster.kernel.tables.declared_tables import all_tables

CONDITIONS = ("C0", "C2", "TS", "SS")
SECTIONS = ("answer", "questions", "method", "results", "examples", "cost", "caveats", "reproduce")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></title><svg onload=alert(1)>",
    "'; --> <!-- {{ 7*7 }} {% raw %} &lt;b&gt;",
    "**<b>bold</b>** `<i>` [1] [x](javascript:alert(1)) https://example.org/a",
    "\u202eevil\x00\x1b[31m\ud800",
)
_STRENGTH = {"C0": 3.0, "C2": 6.0, "TS": 4.0, "SS": 0.0}
_WORDS = (
    "The harbour board put off dredging the eastern basin twice, for want of money and for fear of ammunition",
    "Shipowners and fishermen disagree about who should pay",
    "According to the minutes, Marta Lindqvist held the board together by settling one question at a time",
)


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    caption: str
    svg: str
    alt: str


def _svg(colour: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 160" width="700" height="160"><defs><clipPath id="a">'
        '<rect width="700" height="160"/></clipPath></defs><g clip-path="url(#a)">'
        f'<rect x="20" y="30" width="420" height="40" fill="{colour}"/><rect x="20" y="90" width="300" height="40" '
        f'fill="#9a9a9a"/><text x="450" y="56">C2</text><text x="330" y="116">SS</text></g></svg>'
    )


def _answers(
    questions: int, text: Callable[[str, int, int], str], engine: str, generator: np.random.Generator
) -> tuple[pl.DataFrame, dict[str, np.ndarray]]:
    """Answers, and how many claims each search method has by question."""
    base = generator.normal(24, 4, questions)
    claims = {
        one: np.clip(np.round(base + _STRENGTH[one] + generator.normal(0, 3, questions)), 1, None)
        for one in CONDITIONS
    }
    rows = [
        {
            "answer_id": f"{condition}-{at}",
            "question_id": f"q{at}",
            "position": at,
            "question": f"Question {at}: who shaped the harbour, and how?",
            "method": condition,
            "text": text(condition, at, int(claims[condition][at])),
            "engine": engine,
            "refused": condition == "SS" and at == 1,
            "problems": "chunk 3: no JSON" if condition == "C0" and at == 2 else None,
        }
        for condition in CONDITIONS
        for at in range(questions)
    ]
    return pl.DataFrame(rows, schema_overrides={"problems": pl.String}), claims


def _long(condition: str, at: int, claims: int) -> str:
    if condition == "SS" and at == 1:
        return "The data does not hold an answer."
    points = "\n".join(f"- **Point {n + 1}**: {_WORDS[(n + at) % 3]} [{n + 1}]." for n in range(claims // 4))
    return f"## What the documents say\n\n{'. '.join(_WORDS)} [1, 2]\n\n{points}\n\n{_WORDS[at % 3]}."


def _tests(measure: str, tests: Sequence[PairTest]) -> list[dict[str, object]]:
    return [
        {
            "measure": measure,
            "condition_a": one.condition_a,
            "condition_b": one.condition_b,
            "questions": one.n,
            "zeros": one.zeros,
            "mean_a": one.mean_a,
            "mean_b": one.mean_b,
            "difference": one.difference,
            "ci_low": one.low,
            "ci_high": one.high,
            "z": one.z,
            "p": one.p,
            "p_holm": one.p_holm,
            "rank_biserial": one.rank_biserial,
            "significant": one.p_holm < 0.05,
        }
        for one in tests
    ]


def _mean(measure: str, condition: str, values: np.ndarray) -> dict[str, object]:
    interval, normal = mean_interval(values, resamples=200), shapiro_wilk(values)
    assert interval is not None
    return {
        "measure": measure,
        "condition": condition,
        "questions": interval.n,
        "mean": interval.mean,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "shapiro_w": normal.w,
        "shapiro_p": normal.p,
        "shapiro_reason": normal.reason,
    }


def _judged(questions: int, generator: np.random.Generator) -> dict[str, pl.DataFrame]:
    plan = planned([f"q{at}" for at in range(questions)], CONDITIONS)
    rows = []
    for row in plan.iter_rows(named=True):
        a, b = row["condition_a"], row["condition_b"]
        lead = (_STRENGTH[a] - _STRENGTH[b]) * (-1 if row["criterion"] == "directness" else 1)
        drawn = generator.normal(lead + (1 if row["first"] == a else -1), 4)
        winner = None if abs(drawn) < 0.8 else a if drawn > 0 else b
        problem = "no JSON in the reply" if generator.random() < 0.004 else None
        winner = None if problem else winner
        score = 50.0 if winner is None else 100.0 if winner == a else 0.0
        reason = (
            f"{winner or 'Neither'} is ahead on {row['criterion']}: it names more of the people involved."
        )
        rows.append(
            {
                **row,
                "winner": winner,
                "score_a": score,
                "reason": reason,
                "problem": problem,
                "model": "judge-1",
            }
        )
    schema = {"winner": pl.String, "problem": pl.String}
    judgements = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    compared = (
        judgements.group_by("question_id", "condition_a", "condition_b", "criterion", maintain_order=True)
        .agg(
            pl.len().alias("replicates"),
            (pl.col("winner") == pl.col("condition_a")).sum().alias("wins_a"),
            (pl.col("winner") == pl.col("condition_b")).sum().alias("wins_b"),
            pl.col("winner").is_null().sum().alias("ties"),
            pl.col("problem").is_not_null().sum().alias("unusable"),
            pl.col("score_a").mean(),
        )
        .with_columns(
            label=pl.when(2 * pl.col("wins_a") > pl.col("replicates"))
            .then("condition_a")
            .when(2 * pl.col("wins_b") > pl.col("replicates"))
            .then("condition_b")
        )
    )
    return {"judgements": judgements, "comparisons": compared, "position_bias": position_bias(judgements)}


def _win_rates(compared: pl.DataFrame) -> pl.DataFrame:
    score, key = pl.col("score_a"), ("criterion", "condition", "opponent")
    ways = [
        compared.select(
            "criterion", pl.col(own).alias("condition"), pl.col(other).alias("opponent"), value.alias("s")
        )
        for own, other, value in (
            ("condition_a", "condition_b", score),
            ("condition_b", "condition_a", 100 - score),
        )
    ]
    return (
        pl.concat(ways).group_by(*key).agg(pl.col("s").mean().alias("win_rate"), pl.len().alias("questions"))
    )


def _quality(answers: pl.DataFrame, generator: np.random.Generator) -> pl.DataFrame:
    rows = []
    for row in answers.iter_rows(named=True):
        for metric in ("answer_relevancy", "faithfulness"):
            value = None if row["refused"] else float(generator.uniform(0.6, 1))
            reason = "the answer is a refusal" if row["refused"] else None
            rows.append((row["answer_id"], "deepeval", metric, value, None, None, reason))
    names = ("answer_id", "family", "metric", "value", "numerator", "denominator", "reason")
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def _themes(judgements: pl.DataFrame) -> dict[str, pl.DataFrame]:
    own = judgements.filter(criterion="empowerment")["judgement_id"].sort().to_list()[:5]
    themes = [("t1", "empowerment", 0, "Names people", "It names them.", 4, 5, "judge-1")]
    themes.append(("t2", "empowerment", 1, "Cites <i>sources</i>", "It cites.", 0, 5, "judge-1"))
    names = ("theme_id", "criterion", "position", "theme", "description", "reasons", "read", "model")
    reasons = [
        (one, "empowerment", ["t1"] if at else [], None if at else "lost") for at, one in enumerate(own)
    ]
    return {
        "themes": pl.DataFrame(themes, schema=names, orient="row"),
        "theme_reasons": pl.DataFrame(
            reasons,
            schema={
                "judgement_id": pl.String,
                "criterion": pl.String,
                "theme_ids": pl.List(pl.String),
                "problem": pl.String,
            },
            orient="row",
        ),
    }


def made(
    *, judged: bool, questions: int = 24, text: Callable[[str, int, int], str] = _long, seed: int = 7
) -> ReportData:
    """An evaluation of invented answers; ``text`` makes one of way, question and number of claims."""
    generator = np.random.default_rng(seed)
    engine, lex = ("llm", "") if judged else ("extractive", "-lex")
    answers, claims = _answers(questions, text, engine, generator)
    words = {
        one: np.array([float(len(t.split())) for t in answers.filter(method=one)["text"]])
        for one in CONDITIONS
    }
    counted = {
        f"claims{lex}": claims,
        f"clusters{lex} 0.5": {one: np.ceil(values * 0.7) for one, values in claims.items()},
        f"clusters{lex} 0.5 inclusive": {one: np.ceil(values * 0.65) for one, values in claims.items()},
        "words": words,
        "refusals": {
            one: np.array([float(one == "SS" and at == 1) for at in range(questions)]) for one in CONDITIONS
        },
    }
    significance, means, per_answer = [], [], []
    for measure, values in counted.items():
        significance += _tests(measure, pairwise(values, CONDITIONS, resamples=200))
        means += [_mean(measure, one, values[one]) for one in CONDITIONS]
        per_answer += [
            (f"{one}-{at}", f"q{at}", one, measure, float(values[one][at]))
            for one in CONDITIONS
            for at in range(questions)
        ]
    extra: dict[str, pl.DataFrame] = {}
    if judged:
        extra = _judged(questions, generator)
        extra["win_rates"] = _win_rates(extra["comparisons"])
        extra["quality_scores"] = _quality(answers, generator)
        extra |= _themes(extra["judgements"])
        for criterion in CRITERIA:
            pairs: dict[tuple[str, str], list[float]] = {}
            for row in extra["comparisons"].filter(criterion=criterion).iter_rows(named=True):
                pairs.setdefault((row["condition_a"], row["condition_b"]), []).append(row["score_a"])
            significance += _tests(criterion, pairwise_scores(pairs, resamples=200))
        extra["alignment"] = pl.DataFrame(
            {
                "criterion": ["comprehensiveness"],
                "measure": ["claims"],
                "comparisons": [144],
                "judge_ties": [44],
                "agree": [61],
                "disagree": [39],
                "claim_ties": [5],
                "agreement": [0.61],
            }
        )
    tested = pl.DataFrame(significance, infer_schema_length=None)
    costs = [
        {
            "condition": one,
            "answers": questions,
            "refused": int(one == "SS"),
            "context_rows": 40.0,
            "context_tokens": {"C0": 8_400.5, "C2": 73_400.25, "TS": 101_461.1, "SS": 7_920.0}[one],
            "calls": 11.5,
            "input_tokens": 75_000.0,
            "output_tokens": 1_900.0,
            "usd": 0.0123 if judged and one != "TS" else None,
            "seconds": 4.25 if one == "SS" else 31.5,
        }
        for one in CONDITIONS
    ]
    return ReportData(
        corpus="harbour",
        description="Minutes, letters and surveys of a harbour town, 1962 to 1991.",
        version="9.8.7",
        created_by={"graph": "extractive", "reports": engine, "answers": engine, "questions": engine},
        settings={
            "search.context_tokens": 8000,
            "evaluation.judge": "plain",
            "evaluation.citations": "shown",
            "evaluation.replicates": 5,
            "model.base_url": "https://example.org/v1",
        },
        conditions=CONDITIONS,
        baseline="SS",
        answer_engine=engine,
        claim_engine=engine,
        judge_model="judge-1" if judged else None,
        answer_model="judge-1" if judged else None,
        commands=("graphrag-dagster index corpora/harbour", "graphrag-dagster answer harbour"),
        figures=(
            Drawing(
                "measures",
                "Claims",
                "Means with intervals.",
                _svg("#0072b2"),
                "C2 has the most claims, SS the fewest",
            ),
            Drawing("costs_words", "Cost", "Tokens against claims.", _svg("#d55e00"), "C2 reads most"),
        ),
        questions=answers.filter(method="SS").select(
            "question_id",
            "position",
            "question",
            pl.lit("written").alias("origin"),
            pl.lit(None).alias("reference"),
        ),
        personas=pl.DataFrame(
            {"position": [0], "name": ["Archivist"], "description": ["keeps the town's papers"]}
        ),
        answers=answers,
        answer_measures=pl.DataFrame(
            per_answer, schema=["answer_id", "question_id", "condition", "measure", "value"], orient="row"
        ),
        condition_means=pl.DataFrame(means, infer_schema_length=None),
        significance=tested,
        verdicts=verdicts(tested, CONDITIONS),
        context_sizes=pl.DataFrame(
            [("C0", 34, 26_657, 2.627), ("TS", 1_669, 1_014_611, 100.0)],
            schema=["condition", "units", "tokens", "percent_of_ts"],
            orient="row",
        ),
        condition_costs=pl.DataFrame(costs, schema_overrides={"usd": pl.Float64}, infer_schema_length=None),
        **extra,
    )


@pytest.fixture(scope="module")
def judged() -> ReportData:
    return made(judged=True)


@pytest.fixture(scope="module")
def extractive() -> ReportData:
    return made(judged=False)


def parsed(page: str) -> BeautifulSoup:
    return BeautifulSoup(page.replace("\N{NO-BREAK SPACE}", " "), "html.parser")


def section(page: str, name: str) -> Tag:
    found = parsed(page).find("section", id=name)
    assert isinstance(found, Tag)
    return found


FRAMES = (
    "questions",
    "personas",
    "answers",
    "answer_measures",
    "condition_means",
    "significance",
    "win_rates",
    "position_bias",
    "alignment",
    "verdicts",
    "condition_costs",
    "context_sizes",
    "comparisons",
    "judgements",
    "quality_scores",
    "themes",
    "theme_reasons",
)


def _declared(frame: str) -> list[str]:
    names = {
        "personas": "questions.personas",
        "questions": "questions.questions",
        "answers": "answers.answers",
        "context_sizes": "marts.context_sizes",
    }
    table = next(one for one in all_tables() if one.full_name == names.get(frame, f"evaluation.{frame}"))
    return [column.name for column in table.columns]


@pytest.mark.parametrize("frame", FRAMES)
def test_invented_frames_have_columns_of_the_declared_tables(judged: ReportData, frame: str) -> None:
    assert set(getattr(judged, frame).columns) <= set(_declared(frame))


def test_has_every_section_in_order_with_a_table_of_contents(judged: ReportData) -> None:
    page = parsed(render(judged))
    assert [one["id"] for one in page.find_all("section")] == list(SECTIONS)
    assert [one["href"] for one in page.select("nav a")] == [f"#{name}" for name in SECTIONS]
    assert len({one["id"] for one in page.find_all(id=True)}) == len(page.find_all(id=True))
    assert page.html is not None
    assert page.html["lang"] == "en"


@pytest.mark.parametrize("judge", [True, False])
def test_refers_to_nothing_outside_and_runs_nothing(judge: bool) -> None:
    text = render(made(judged=judge, questions=5))
    page = parsed(text)
    for tag in page.find_all(True):
        assert tag.name not in {"script", "link", "iframe", "object", "embed", "base", "form", "svg"}
        for name, value in tag.attrs.items():
            assert not name.startswith("on")
            if name in {"src", "href", "srcset", "action", "data"}:
                assert str(value).startswith(("#", "data:image/svg+xml;base64,"))
    style = "".join(one.get_text() for one in page.find_all("style"))
    assert "@import" not in style
    assert "url(" not in style
    assert "default-src 'none'" in text


def test_tables_have_captions_and_scopes_and_rectangular_rows(judged: ReportData) -> None:
    tables = parsed(render(judged)).find_all("table")
    assert len(tables) > 10
    for one in tables:
        assert one.caption is not None
        assert one.caption.get_text(strip=True)
        heads = one.select("thead th")
        assert {th["scope"] for th in heads} == {"col"}
        for row in one.select("tbody tr"):
            assert len(row.find_all(["th", "td"])) == len(heads)
            assert [th["scope"] for th in row.find_all("th")] == ["row"]


def test_figures_are_images_that_hold_their_drawing_and_say_what_is_on_it(judged: ReportData) -> None:
    page = render(judged)
    images = {str(one["alt"]): str(one["src"]) for one in parsed(page).find_all("img")}
    assert set(images) == {one.alt for one in judged.figures}
    for one in judged.figures:
        assert base64.b64decode(images[one.alt].partition(",")[2]).decode() == one.svg
    assert section(page, "cost").find("img", alt="C2 reads most")


def test_an_image_gets_the_namespace_that_it_cannot_do_without() -> None:
    drawing = base64.b64decode(image('<svg width="1"></svg>').partition(",")[2]).decode()
    assert drawing == '<svg xmlns="http://www.w3.org/2000/svg" width="1"></svg>'


def _cells(page: str, caption: str) -> dict[str, list[str]]:
    for one in parsed(page).find_all("table"):
        assert one.caption is not None
        if one.caption.get_text().startswith(caption):
            return {
                next(iter(row.th.stripped_strings)): [
                    " ".join(td.stripped_strings) for td in row.find_all("td")
                ]
                for row in one.select("tbody tr")
                if row.th is not None
            }
    raise AssertionError(f"no table {caption}")


def test_numbers_are_those_of_the_frames(judged: ReportData) -> None:
    page = render(judged)
    assert judged.win_rates is not None
    assert judged.condition_means is not None
    won = _cells(page, "Comparisons won against SS")
    for criterion in CRITERIA:
        for at, condition in enumerate(("C0", "C2", "TS")):
            rate = judged.win_rates.filter(criterion=criterion, condition=condition, opponent="SS")[
                "win_rate"
            ].item()
            assert won[criterion][at].startswith(f"{rate:.1f} %")
    claims = _cells(page, "Claims and clusters")["claims per answer"]
    for at, condition in enumerate(CONDITIONS):
        row = judged.condition_means.filter(measure="claims", condition=condition).row(0, named=True)
        assert claims[at].startswith(f"{row['mean']:.1f} {row['ci_low']:.1f} to {row['ci_high']:.1f}")
    grid = _cells(page, "directness: how often")
    assert float(grid["C0"][3]) + float(grid["SS"][0]) == pytest.approx(100, abs=0.11)
    costs = _cells(page, "Cost of an answer")
    assert costs["C2"][3] == "73,400 9.3 × SS"
    assert costs["C2"][7:] == ["$0.012", "31.5"]
    assert costs["TS"][7] == "–"
    sizes = _cells(page, "Tokens that the conditions read")
    assert sizes == {"units": ["34", "1,669"], "tokens": ["26,657", "1,014,611"], "% of TS": ["2.6", "100.0"]}


def test_themes_have_counts_and_a_reason_that_speaks_of_them(
    judged: ReportData, extractive: ReportData
) -> None:
    page = section(render(judged), "results")
    (found,) = [one for one in page.find_all("table") if "reasons express" in str(one.caption)]
    rows = [" ".join(row.stripped_strings) for row in found.select("tbody tr")]
    assert rows[0].startswith("empowerment Names people 4 of 5 80 % It names them. “")
    assert "is ahead on empowerment" in rows[0]
    assert rows[1] == "empowerment Cites <i>sources</i> 0 of 5 0 % It cites."
    assert "1 reason could not be read in full" in page.get_text()
    nothing = render(replace(judged, themes=None, theme_reasons=None))
    assert "No themes were named" in nothing
    assert "No themes were named" not in render(extractive)


def test_all_tests_are_there(judged: ReportData) -> None:
    page = render(judged)
    assert judged.significance is not None
    assert judged.verdicts is not None
    folded = [len(one.select("tbody tr")) for one in parsed(page).select("details table")]
    assert judged.significance.height in folded
    assert judged.verdicts.height in folded


def test_quality_has_means_and_counted_reasons(judged: ReportData) -> None:
    assert judged.quality_scores is not None
    page = render(judged)
    scored = judged.quality_scores.filter(metric="faithfulness").filter(
        pl.col("answer_id").str.starts_with("SS")
    )
    mean = scored["value"].mean()
    assert _cells(page, "Mean of each metric")["deepeval faithfulness"][3] == f"{mean:.2f} 23 of 24 answers"
    assert _cells(page, "Metrics without a value")["deepeval faithfulness"] == [
        "SS",
        "1",
        "the answer is a refusal",
    ]


def test_figures_of_the_papers_stand_below_ours_where_the_measure_is_the_same(
    judged: ReportData, extractive: ReportData
) -> None:
    page = render(judged)
    wins = _cells(page, "Wins over SS")
    assert set(wins) == set(CRITERIA)
    assert wins["comprehensiveness"][0].endswith(" podcasts 71.92 news 71.76")
    assert len(wins["comprehensiveness"]) == len(CONDITIONS) - 1
    assert _cells(page, "Claims and clusters, below")["claims"][3].endswith(" podcasts 26.50 news 25.23")
    by_rule = render(extractive)
    assert "Sizes of the contexts, below" in by_rule
    assert "Claims and clusters, below" not in by_rule
    nothing = replace(extractive, context_sizes=None)
    assert "Beside the figures of the papers" not in render(nothing)


def test_figures_on_context_nodes_stand_below_ours_level_by_level() -> None:
    rows = {"level": [0, 1], "cross context": [0.21, None], "cross leiden": [0.2, 0.1]}
    made = published_context_table(pl.DataFrame(rows | {"P@5 plain": [0.5, 0.5], "P@5 context": [0.75, 0.5]}))
    assert made
    assert [(row[0].text, row[1].text, *row[1].notes) for row in made.rows] == [
        ("C0", "0.210", "paper 0.2006"),
        ("C1", "–", "paper 0.2006"),
    ]


def test_features_are_those_that_the_ways_declare(judged: ReportData) -> None:
    page = render(replace(judged, conditions=[*judged.conditions, "gone"]))
    table = page.partition("Features of each search method")[2].partition("</table>")[0]
    told = [re.sub(r"<[^>]*>", " ", row).split() for row in table.split("<tr>")[2:]]
    declared = [["C0", "yes", "–"], ["C2", "yes", "–"], ["TS", "–", "yes"], ["SS", "–", "yes"]]
    assert told == [*declared, ["gone", "–", "–"]]


def test_what_is_faithful_to_itself_is_told_beside_the_metrics(judged: ReportData) -> None:
    said = "own-context writes its own context"
    assert said not in render(judged)
    page = render(replace(judged, conditions=[*judged.conditions, "own-context"]))
    assert page.count(said) == 2
    assert "<dt>Faithful to itself</dt>" in page


def test_bias_and_alignment_are_told(judged: ReportData) -> None:
    page = render(judged)
    assert "judge-1 (plain judge) named the winner first; citation marks were shown." in page
    assert judged.position_bias is not None
    share = judged.position_bias.filter(criterion="all")["share"].item()
    assert _cells(page, "How often the answer shown first")["all"][3] == f"{100 * share:.1f} %"
    assert _cells(page, "Of the decided comparisons")["comprehensiveness"][-1] == "61 %"
    text = section(page, "caveats").get_text()
    for heading in (
        "Position bias",
        "The judge wrote the answers",
        "Ties",
        "Unusable replies",
        "Refused questions",
    ):
        assert heading in text
    assert "SS 1" in text


def test_headline_stands_first(judged: ReportData) -> None:
    page = render(judged)
    assert judged.verdicts is not None
    first = section(page, "answer").select_one(".headline")
    assert first is not None
    told = headline(judged.verdicts, questions=24, judged=True, judgements=judged.judgements)
    assert first.get_text() == told
    assert first.get_text().startswith("Yes, at the price of directness")
    tiles = [one.get_text(" ") for one in section(page, "answer").select(".tile")]
    assert 3 <= len(tiles) <= 6
    assert tiles[1].startswith("14 of 2,880")
    assert "9.3 ×" in tiles[-1]


def test_a_judge_without_usable_replies_is_no_draw(judged: ReportData) -> None:
    assert judged.judgements is not None
    silent = judged.judgements.with_columns(
        winner=pl.lit(None, pl.String), score_a=50.0, problem=pl.lit("the reply is empty")
    )
    page = render(replace(judged, judgements=silent, verdicts=None))
    answer = section(page, "answer").get_text(" ")
    assert "Nothing can be said on whether the graph helps: 2,880 of 2,880 verdicts had no usable" in answer
    assert "of comparisons on comprehensiveness won by" not in answer.replace("? of comparisons", "")
    cells = _cells(page, "Comparisons won against SS")
    assert "unknown" in cells["comprehensiveness"][1]


def test_without_a_judge_nothing_is_called_by_the_papers_names(extractive: ReportData) -> None:
    page = render(extractive)
    text = parsed(page).get_text(" ", strip=True)
    assert "no model has judged these answers, and counts do not show which answers are better" in text
    assert "answers: extractive" in text
    assert "claims: extractive, named -lex" in text
    rows = _cells(page, "claims-lex and clusters-lex (extractive)")
    assert all("-lex" in name for name in rows)
    for statement in section(page, "answer").select("li"):
        said = statement.get_text()
        assert "claim" not in said or "-lex" in said
    assert "No model judged the answers" in section(page, "results").get_text()
    sides = section(page, "examples").select(".side h4 .badge.extractive")
    assert [one.get_text() for one in sides] == ["extractive"] * 6
    assert "Extractive answers" in section(page, "caveats").get_text()


def test_examples_are_the_largest_middle_and_smallest_difference(extractive: ReportData) -> None:
    assert extractive.answer_measures is not None
    kept = extractive.answer_measures.filter(measure="claims-lex")
    values = {(row[1], row[2]): row[4] for row in kept.iter_rows()}
    ranked = sorted(range(24), key=lambda at: (values[f"q{at}", "SS"] - values[f"q{at}", "C2"], at))
    shown = [one.get_text() for one in section(render(extractive), "examples").select(".question")]
    assert shown == [
        f"Question {at}: who shaped the harbour, and how?" for at in (ranked[0], ranked[12], ranked[-1])
    ]


def test_examples_of_a_judged_report_have_reasons_that_go_with_the_result(judged: ReportData) -> None:
    assert judged.comparisons is not None
    articles = section(render(judged), "examples").find_all("article")
    assert len(articles) == 3
    for one in articles:
        assert [side.contents[0].strip() for side in one.select(".side h4")] == ["C2", "SS"]
        for reason in one.select(".reasons li"):
            wins, losses = (
                int(part.split()[at])
                for part, at in zip(reason.get_text().split(" : "), (-1, 0), strict=False)
            )
            leader = "C2" if wins >= 3 else "SS" if losses >= 3 else "Neither"
            quote = reason.q.get_text() if reason.q else ""
            assert quote.startswith(leader)


@pytest.mark.parametrize("number", [1, 2])
def test_few_questions_have_fewer_examples(number: int) -> None:
    data = made(judged=False, questions=number)
    articles = section(render(data), "examples").find_all("article")
    assert len(articles) == number


def test_hostile_texts_stay_text() -> None:
    attack = "\n".join(HOSTILE)
    # A frame holds no lone surrogate; plain text may.
    data = made(judged=True, questions=4, text=lambda *_: attack.replace("\ud800", ""))
    assert data.questions is not None
    assert data.answers is not None
    assert data.judgements is not None
    assert data.verdicts is not None
    assert data.quality_scores is not None
    evil = pl.lit("".join(HOSTILE[:5]))
    data = replace(
        data,
        corpus=attack,
        description=attack,
        version=attack,
        created_by={attack: attack},
        settings={attack: attack},
        judge_model=attack,
        answer_model=attack,
        commands=(attack,),
        figures=[Drawing("measures", attack, attack, _svg("red"), attack)],
        questions=data.questions.with_columns(question=evil),
        answers=data.answers.with_columns(question=evil, engine=evil),
        judgements=data.judgements.with_columns(reason=evil),
        verdicts=data.verdicts.with_columns(statement=evil),
        quality_scores=data.quality_scores.with_columns(reason=evil, metric=evil),
        personas=pl.DataFrame({"position": [0], "name": [HOSTILE[1]], "description": [HOSTILE[0]]}),
    )
    text = render(data)
    harmless = render(replace(made(judged=True, questions=4), figures=data.figures))
    allowed = {tag.name for tag in parsed(harmless).find_all(True)} | {"code", "strong", "br", "sup"}
    page = parsed(text)
    for tag in page.find_all(True):
        assert tag.name in allowed
        assert not [name for name in tag.attrs if name.startswith("on")]
    assert len(page.find_all("img")) == 1
    for shown in (
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{{ 7*7 }}",
        "javascript:alert(1)",
    ):
        assert shown in page.get_text()
    assert not {"\u202e", "\x00", "\x1b", "\ud800"} & set(text)
    text.encode()


@given(st.text(alphabet=st.sampled_from(list("<>&\"'*`[]1, #-\n./!abc\u202e\x00\r")), max_size=60))
def test_rendered_text_has_only_our_tags_and_every_word(text: str) -> None:
    page = parsed(str(render_markdown(text)))
    for tag in page.find_all(True):
        assert tag.name in {"p", "ul", "ol", "li", "strong", "code", "sup", "br"}
        assert set(tag.attrs) <= {"class"}
    letters = [letter for letter in text if letter in "abc<>&\"'"]
    assert [letter for letter in page.get_text() if letter in "abc<>&\"'"] == letters


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A <b>\nx", '<p class="heading">A &lt;b&gt;</p>\n<p>x</p>'),
        (
            "- a\n- b [1, 2]\n\n1. c",
            '<ul><li>a</li><li>b <sup class="cite">[1, 2]</sup></li></ul>\n<ol><li>c</li></ol>',
        ),
        ("a\nb\n\nc **d** `e`", "<p>a<br>b</p>\n<p>c <strong>d</strong> <code>e</code></p>"),
        ("**a `b** c`", "<p><strong>a `b</strong> c`</p>"),
        ("", ""),
    ],
)
def test_little_markdown(text: str, html: str) -> None:
    assert render_markdown(text) == html


def test_clean_keeps_letters_of_all_scripts() -> None:
    assert clean("naïve שלום 北京 👩‍🔬\tx\r\ny") == "naïve שלום 北京 👩‍🔬\tx\ny"


def test_without_anything_each_section_says_why_it_is_empty(judged: ReportData) -> None:
    empty = replace(
        judged, **dict.fromkeys(FRAMES), figures=(), created_by={}, settings={}, commands=(), conditions=()
    )
    page = render(empty)
    for name in ("answer", "questions", "method", "results", "examples", "cost", "reproduce"):
        assert section(page, name).select(".missing"), name
    assert "No verdict is possible" in section(page, "answer").get_text()


def test_frames_without_rows_are_as_good_as_none(judged: ReportData) -> None:
    frames = {name: getattr(judged, name).clear() for name in FRAMES}
    nothing = replace(judged, **dict.fromkeys(FRAMES))
    assert render(replace(judged, **frames)) == render(nothing)


@pytest.mark.parametrize("judge", [True, False])
def test_same_bytes_whatever_the_order_of_the_rows(judge: bool) -> None:
    data = made(judged=judge, questions=9)
    frames = {name: getattr(data, name) for name in FRAMES}
    turned = {
        name: frame.sample(fraction=1, shuffle=True, seed=3)
        for name, frame in frames.items()
        if frame is not None
    }
    assert render(replace(data, **turned)) == render(data)


def test_verdicts_follow_from_the_tests_where_they_are_not_given(judged: ReportData) -> None:
    assert render(replace(judged, verdicts=None)) == render(judged)


def test_other_conditions_and_baseline() -> None:
    data = made(judged=True, questions=6)
    assert "No verdict is possible" in render(replace(data, baseline="basic", verdicts=None))
    assert "C0" in render(replace(data, conditions=("SS", "C0"), verdicts=None))


def test_where_interval_and_test_disagree_it_is_marked_and_told(judged: ReportData) -> None:
    assert judged.significance is not None
    apart = replace(judged, significance=judged.significance.with_columns(p_holm=pl.lit(0.9)), verdicts=None)
    assert "†" in _cells(render(apart), "Comparisons won against SS")["directness"][0]
    told = section(render(apart), "caveats").get_text()
    assert "Interval and test disagree" in told
    assert "because of the correction" in told
    statements = section(render(apart), "answer").get_text()
    assert "Wilcoxon p < .001, Holm-corrected p = .900" in statements
    assert "not corrected for the number of pairs" in statements
    together = replace(judged, significance=judged.significance.with_columns(ci_low=None, ci_high=None))
    assert "Interval and test disagree" not in section(render(together), "caveats").get_text()


def test_pairs_are_coloured_where_the_corrected_test_finds_a_difference(judged: ReportData) -> None:
    assert judged.significance is not None
    weak = judged.significance.with_columns(p_holm=pl.lit(0.05))
    for frame, coloured in ((judged.significance, True), (weak, False)):
        grid = section(render(replace(judged, significance=frame)), "results").select_one(".grids table")
        assert grid is not None
        assert bool(grid.select("td.good, td.bad")) is coloured
