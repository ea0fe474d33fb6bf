import io
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWERS
from graphrag_dagster.apps.evaluation.questions.question_tables import QUESTIONS
from graphrag_dagster.apps.evaluation.stages.evaluation_plan import plan_answers_of
from graphrag_dagster.apps.evaluation.tables import (
    ANSWER_CLAIMS,
    ANSWER_MEASURES,
    ANSWER_SENTENCES,
    COMPARISONS,
    CONDITION_COSTS,
    CONDITION_MEANS,
    EXTRACTION_COUNTS,
    JUDGEMENTS,
    POSITION_BIAS,
    QUALITY_SCORES,
    SIGNIFICANCE,
    THEME_REASONS,
    THEMES,
    VERDICTS,
    WIN_RATES,
    WINDOW_ANSWERS,
    WINDOW_WIN_RATES,
)
from graphrag_dagster.component import compose
from graphrag_dagster.kernel.pipeline.erasure import report_folder
from graphrag_dagster.kernel.pipeline.table_checks import violations
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables, declared_table
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.commands import Run
from support.endpoint import ScriptedEndpoint
from support.scripted_judges import first_judge, judging_reply
from support.scripted_replies import name_pattern_script

EXTRACTIVE = """
questions: {methods: [C0, C1, SS], personas: 2, tasks: 2, per_task: 2}
studies: {chunk_sizes: [40, 80], windows: [300, 600], questions: 3}
"""
JUDGED = """
questions: {{methods: [C0, SS, local], engine: llm, personas: 2, tasks: 1, per_task: 1, write: always,
             file: asked.csv, ask: ["Who met Selma Dray?"]}}
search: {{engine: llm}}
evaluation: {{engine: llm, replicates: 3, criteria: [comprehensiveness, directness], metrics: [deepeval, ragas]}}
studies: {{windows: [400, 800], questions: 2}}
model: {{base_url: "{url}", name: scripted, retries: 1, tasks: {{judge: {{name: judge}}}}}}
"""
ASKED = 'question,reference\n"Who led the Dockers Union?","Hanna Quill led the Dockers Union."\n'
EVALUATION = [table for table in all_tables() if table.schema in {"questions", "answers", "evaluation"}]


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "coast")


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(models=("scripted", "judge")) as server:
        yield server


def prepare(coast: Path, settings: str) -> None:
    (coast / "corpus.yaml").write_text(settings, encoding="utf-8")
    (coast / "asked.csv").write_text(ASKED, encoding="utf-8")


def done(run: Run, *arguments: str, code: int = 0) -> str:
    """Run a command that ends so; gives what it printed."""
    ended, out, err = run(*arguments)
    assert ended == code, out + err
    return out


def all_tables_hold() -> None:
    with Warehouse().reading("coast") as reader:
        for table in EVALUATION:
            assert violations(reader, table) == [], table.full_name


def test_without_a_model_counts_have_names_of_their_own_and_nothing_is_judged(
    coast: Path, home: Path, run: Run
) -> None:
    prepare(coast, EXTRACTIVE)
    (home / "copy").mkdir()
    told = json.loads(done(run, "evaluate", "coast", "--yes", "--out", str(home / "copy"), "--json"))
    assert told["headline"].startswith("Unknown: no model has judged")
    assert read(QUESTIONS)["origin"].to_list() == ["written"] * 8
    assert read(ANSWERS).height == 24
    assert read(JUDGEMENTS).is_empty()
    assert read(WIN_RATES).is_empty()
    assert read(THEMES).is_empty()
    names = set(read(CONDITION_MEANS)["measure"])
    assert {"claims-lex", "clusters-lex 0.5", "words"} <= names
    assert not {name for name in names if name in {"claims", "comprehensiveness"} or "clusters 0" in name}
    sizes = {row["condition"]: row for row in told["context_sizes"]}
    assert sizes["TS"]["units"] == read(tables.TEXT_CHUNKS).height
    assert sizes["C0"]["units"] == read(tables.COMMUNITIES).filter(pl.col("level") == 0).height
    sentences, claims = read(ANSWER_SENTENCES), read(ANSWER_CLAIMS)
    assert sentences["claims"].sum() == claims.height > 0
    assert set(sentences["answer_id"]) == set(read(ANSWERS)["answer_id"])
    all_tables_hold()
    page = Path(told["report"]).read_text(encoding="utf-8")
    assert "no model has judged" in page
    assert "claims-lex" in page
    folder = report_folder(Warehouse(), "coast")
    assert Path(told["report"]) == home / "copy" / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == page
    assert (folder / "measures.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.long
def test_a_judge_that_likes_length_gives_the_win_to_the_longer_answers(
    coast: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    prepare(coast, JUDGED.format(url=endpoint.url))
    stages = {
        one["stage"]: one for one in json.loads(done(run, "evaluate", "coast", "--plan", "--json"))["stages"]
    }
    assert not endpoint.requests
    assert stages["judgements"]["calls"]["expected"] == 3 * 4 * 2 * 3
    assert stages["themes"]["calls"]["expected"] == 2 * 5
    told = json.loads(done(run, "evaluate", "coast", "--yes", "--json"))
    assert told["missing"] == []
    judged = read(JUDGEMENTS)
    asked = [one for one in endpoint.chats if one.task == "judge_answers"]
    assert judged.height == 72
    assert len(asked) == judged["model"].is_not_null().sum() > 0
    assert {one.body["model"] for one in asked} == {"judge"}
    assert {one.body["temperature"] for one in asked} == {0.7}
    assert {one.body["temperature"] for one in endpoint.chats if one.task != "judge_answers"} == {0.0}
    for key, group in judged.group_by("question_id", "condition_a", "condition_b", "criterion"):
        votes = ["tie" if winner is None else "a" if winner == key[1] else "b" for winner in group["winner"]]
        found = read(COMPARISONS).filter(
            (pl.col("question_id") == key[0])
            & (pl.col("condition_a") == key[1])
            & (pl.col("condition_b") == key[2])
            & (pl.col("criterion") == key[3])
        )
        wins = {key[1]: votes.count("a"), key[2]: votes.count("b")}
        label = next((side for side, won in wins.items() if 2 * won > len(votes)), None)
        points = (100 * votes.count("a") + 50 * votes.count("tie")) / len(votes)
        assert found.select("score_a", "label").row(0) == (points, label)
    rates = read(WIN_RATES)
    mirrored = rates.join(
        rates,
        left_on=["criterion", "condition", "opponent"],
        right_on=["criterion", "opponent", "condition"],
    )
    assert ((mirrored["win_rate"] + mirrored["win_rate_right"]) == 100).all()
    lengths = dict(
        read(ANSWER_MEASURES)
        .filter(pl.col("measure") == "words")
        .group_by("condition")
        .agg(pl.col("value").sum())
        .iter_rows()
    )
    best = max(lengths, key=lambda name: lengths[name])
    assert rates.filter(pl.col("condition") == best)["win_rate"].min() >= 50
    reasons = read(THEME_REASONS)
    assert set(reasons["judgement_id"]) == set(judged.filter(pl.col("model").is_not_null())["judgement_id"])
    assert reasons["problem"].null_count() == reasons.height
    assert {one["theme"] for one in told["themes"]} >= {"script"}
    assert "Themes of the judge" in Path(told["report"]).read_text(encoding="utf-8")
    assert "claims" in set(read(CONDITION_MEANS)["measure"])
    quality = read(QUALITY_SCORES)
    assert set(quality["family"]) == {"deepeval", "ragas", "lexical"}
    assert quality.filter(pl.col("value").is_null())["reason"].null_count() == 0
    assert not quality["value"].drop_nulls().is_nan().any()
    assert quality["answer_id"].n_unique() == 3
    assert read(CONDITION_COSTS)["input_tokens"].min() > 0
    all_tables_hold()
    paid = len(endpoint.requests)
    before = {table.full_name: read(table) for table in EVALUATION}
    done(run, "evaluate", "coast", "--yes", "--json")
    assert len(endpoint.requests) == paid
    for name, frame in before.items():
        assert read(declared_table(name)).equals(frame), name


class Terminal(io.StringIO):
    """Standard input at which somebody types."""

    def isatty(self) -> bool:
        return True


COMMANDS = (
    ("evaluate",),
    ("answer",),
    ("study", "gleanings"),
    ("study", "windows"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_goes_beyond_the_index_is_not_paid_for_unasked(
    coast: Path,
    endpoint: ScriptedEndpoint,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    name, *more = command
    settings = JUDGED.format(url=endpoint.url).replace("evaluation: {", "evaluation: {max_tokens: 1234567, ")
    prepare(coast, settings + "extraction: {engine: llm}\n")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ended, out, err = run(name, "coast", *more)
    assert ended == 1
    assert "model" in out
    assert len(err.splitlines()) == 1
    assert "it stops at 1,234,567 tokens" in err
    assert "--yes runs it" in err
    ended, _, err = run(name, "coast", *more, "--max-tokens", "3")
    assert "it stops at 3 tokens; by the estimate that is too little" in err
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    ended, _, err = run(name, "coast", *more)
    assert ended == 1
    assert "Run it? [y/N]" in err
    assert "error: nothing was sent" in err
    assert not endpoint.requests


def test_an_engine_of_a_single_method_counts_as_asking(
    coast: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    model = f'model: {{base_url: "{endpoint.url}", name: scripted}}\n'
    answered = "questions: {write: never, ask: [Who met Selma Dray?], methods: [SS, paths]}\n"
    prepare(coast, answered + model)
    assert "no model is asked" in done(run, "answer", "coast")
    prepare(coast, answered + model + "paths: {engine: llm}\n")
    stages = [one.stage for one in plan_answers_of("coast").estimates]
    assert stages == ["answers paths"]


@pytest.mark.long
def test_a_judge_that_takes_the_first_is_found_out(coast: Path, endpoint: ScriptedEndpoint, run: Run) -> None:
    def script(body: dict[str, object]) -> object:
        return first_judge(body) if body["model"] == "judge" else name_pattern_script(body)

    endpoint.script = script
    settings = JUDGED.format(url=endpoint.url).replace("metrics: [deepeval, ragas]", "metrics: []")
    prepare(coast, settings.replace("replicates: 3", "replicates: 4"))
    told = json.loads(done(run, "evaluate", "coast", "--yes", "--sample", "3", "--json"))
    judged = read(JUDGEMENTS)
    assert judged["question_id"].n_unique() == 3
    bias = read(POSITION_BIAS).filter(pl.col("criterion") == "all").row(0, named=True)
    assert bias["share"] == 1.0
    assert bias["p"] < 0.001
    decided = judged.filter(pl.col("winner").is_not_null())
    assert (decided["winner"] == decided["first"]).all()
    assert set(read(WIN_RATES)["win_rate"]) == {50.0}
    assert not read(SIGNIFICANCE).filter(pl.col("measure") == "directness")["significant"].any()
    assert set(read(VERDICTS).filter(pl.col("measure") == "directness")["outcome"]) == {"unknown"}
    assert "so the judge goes by the place" in told["headline"]
    assert told["headline"] in Path(told["report"]).read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.long
def test_verdicts_that_cannot_be_used_are_ties_and_told(
    coast: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    def script(body: dict[str, object]) -> object:
        return "I would rather not." if judging_reply(body) else name_pattern_script(body)

    endpoint.script = script
    settings = JUDGED.format(url=endpoint.url).replace("metrics: [deepeval, ragas]", "metrics: []")
    prepare(
        coast,
        settings.replace("replicates: 3", "replicates: 1").replace(
            "methods: [C0, SS, local]", "methods: [C0, SS]"
        ),
    )
    told = json.loads(done(run, "evaluate", "coast", "--yes", "--json", code=3))
    judged = read(JUDGEMENTS)
    lost = judged.filter(pl.col("problem").is_not_null())
    assert lost.height > 0
    assert lost["winner"].null_count() == lost.height
    assert any("judgements count as ties" in line for line in told["missing"])
    assert told["headline"].startswith("Nothing can be said on whether the graph helps: ")


@pytest.mark.long
def test_the_studies_compare_chunk_sizes_and_windows(
    coast: Path, endpoint: ScriptedEndpoint, run: Run
) -> None:
    prepare(coast, EXTRACTIVE)
    rows = json.loads(done(run, "study", "coast", "gleanings", "--yes", "--json"))["rows"]
    assert [(row["chunk_size"], row["gleanings"]) for row in rows] == [(40, 0), (80, 0)]
    assert "no model judged" in done(run, "study", "coast", "windows", "--yes")
    assert read(WINDOW_ANSWERS).height == 6
    model = f'\nmodel: {{base_url: "{endpoint.url}", name: scripted}}\nengine: llm\n'
    settings = EXTRACTIVE.replace("questions: 3", "questions: 3, gleanings: 2") + model
    (coast / "corpus.yaml").write_text(settings, encoding="utf-8")
    done(run, "study", "coast", "gleanings", "--yes", "--json")
    counts = read(EXTRACTION_COUNTS)
    assert counts.height == 2 * 2 * 3
    for _, line in counts.sort("gleanings").group_by("chunk_size", "mode"):
        assert line["entities"].is_sorted()
        assert (line["distinct_entities"] <= line["entities"]).all()
    assert (counts["distinct_entities"] < counts["entities"]).any()
    done(run, "study", "coast", "windows", "--yes", "--json")
    rates = read(WINDOW_WIN_RATES)
    assert set(rates["window"]) == {"300", "600"}
    for _, both in rates.group_by("criterion"):
        assert both["win_rate"].sum() == pytest.approx(100)


def test_the_job_makes_all_of_it() -> None:
    job = compose(research=True).resolve_job_def("evaluate")
    assert {key.path[0] for key in job.asset_layer.executable_asset_keys} == {"evaluation", "serving"}
