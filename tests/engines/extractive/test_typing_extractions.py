"""Entities without a type of their own: typed by a model where one is asked, by rules where not, and again."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.engines.neural.neural_extractor import assemble_records
from graphrag_dagster.engines.neural.rebel_parsing import LabelledMention, by_name, parse
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.graphrag.index.extraction import type_entities, untyped_names
from graphrag_dagster.systems.graphrag.index.extraction_tables import ExtractionFrames, extraction_frames
from graphrag_dagster.systems.graphrag.index.incremental_extraction import extract_new
from graphrag_dagster.systems.graphrag.llm.entity_typing import LlmEntityTyper
from support.endpoint import ScriptedEndpoint
from support.scripted_typing import names_in, typing_reply

LABELS = ["drug", "disease", "city", "method"]
TEXTS = {
    "u1": ("Wuhan gave remdesivir.", "<triplet> remdesivir <subj> Wuhan <obj> used in"),
    "u2": ("Wuhan has a Zeta assay.", "<triplet> Zeta assay <subj> hepatitis <obj> finds"),
    "u3": ("Wuhan is a city.", ""),
}
CHUNKS = pl.DataFrame(
    [(unit, number, text) for number, (unit, (text, _)) in enumerate(TEXTS.items())],
    schema={"text_unit_id": pl.String, "human_readable_id": pl.Int32, "text": pl.String},
    orient="row",
)
#: By rules alone: of the names in relations that GLiNER did not find.
UNTYPED = {
    ("u1", "REMDESIVIR"): ("UNKNOWN", "nothing"),
    ("u2", "ZETA ASSAY"): ("UNKNOWN", "nothing"),
    ("u2", "HEPATITIS"): ("UNKNOWN", "nothing"),
}


def extracted(chunks: pl.DataFrame = CHUNKS) -> ExtractionFrames:
    units = [TextUnit(*row) for row in chunks.select("text_unit_id", "text").iter_rows()]
    return extraction_frames(
        [
            assemble_records(
                unit,
                by_name(unit.text, [LabelledMention(Span(0, 5), "city", 0.9)]),
                [parse(TEXTS[unit.id][1])],
            )
            for unit in units
        ],
        "gliner-rebel",
    )


def decided(frames: ExtractionFrames) -> dict[tuple[str, str], tuple[str, str]]:
    rows = frames.typings.select("text_unit_id", "name", "type", "decided_by").iter_rows()
    return {(unit, name): (kind, by) for unit, name, kind, by in rows}


def types(frames: ExtractionFrames) -> dict[tuple[str, str], str]:
    rows = frames.entities.select("text_unit_id", "name", "type").iter_rows()
    return {(unit, name): kind for unit, name, kind in rows}


@pytest.fixture
def typer(monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedEndpoint], LlmEntityTyper]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    def make(endpoint: ScriptedEndpoint) -> LlmEntityTyper:
        settings = ModelSettings(base_url=endpoint.url, name="gpt-4.1-mini", retries=1)
        return LlmEntityTyper(OpenAIChatModel(settings, first_wait=0.01), labels=LABELS)

    return make


def test_without_a_model_there_is_no_type() -> None:
    made, _ = type_entities(extracted(), CHUNKS, None)
    assert decided(made) == UNTYPED
    assert types(made) == types(extracted())
    assert made.typings["problem"].null_count() == 3


def test_a_model_is_asked_about_names_without_a_type_alone(
    typer: Callable[[ScriptedEndpoint], LlmEntityTyper],
) -> None:
    says = {"remdesivir": "other", "Zeta assay": "method", "hepatitis": "city"}
    with ScriptedEndpoint(lambda body: typing_reply(body, says.__getitem__) or "") as endpoint:
        made, _ = type_entities(extracted(), CHUNKS, typer(endpoint))
    assert [names_in(one.body) for one in endpoint.chats] == [["remdesivir", "Zeta assay", "hepatitis"]]
    assert decided(made) == {
        ("u1", "REMDESIVIR"): ("UNKNOWN", "nothing"),
        ("u2", "ZETA ASSAY"): ("METHOD", "model"),
        ("u2", "HEPATITIS"): ("CITY", "model"),
    }
    assert types(made) == types(extracted()) | {
        ("u2", "ZETA ASSAY"): "METHOD",
        ("u2", "HEPATITIS"): "CITY",
    }
    assert {name: one.schema for name, one in vars(made).items()} == {
        name: one.schema for name, one in vars(extracted()).items()
    }


def test_a_reply_of_no_use_gives_no_type_and_is_told(
    typer: Callable[[ScriptedEndpoint], LlmEntityTyper],
) -> None:
    with ScriptedEndpoint(lambda _: "I would rather write a poem.") as endpoint:
        made, _ = type_entities(extracted(), CHUNKS, typer(endpoint))
    assert decided(made) == UNTYPED
    assert made.typings["problem"].null_count() == 0


def test_what_was_typed_before_is_typed_anew_also_where_it_is_taken_over(
    typer: Callable[[ScriptedEndpoint], LlmEntityTyper],
) -> None:
    with ScriptedEndpoint(lambda body: typing_reply(body, lambda _: "city") or "") as endpoint:
        before = type_entities(extracted(CHUNKS[:2]), CHUNKS, typer(endpoint))[0]
    assert {by for _, by in decided(before).values()} == {"model"}
    anew: list[str] = []

    def extract(chunks: pl.DataFrame) -> ExtractionFrames:
        anew.extend(chunks["text_unit_id"])
        return extracted(chunks)

    again = extract_new(CHUNKS, before, extract)
    assert anew == ["u3"]
    by_rules = type_entities(again.frames, CHUNKS, None)[0]
    whole = type_entities(extracted(), CHUNKS, None)[0]
    assert all(one.equals(getattr(whole, name)) for name, one in vars(by_rules).items())


def test_names_are_put_as_they_are_written() -> None:
    frames = extracted()
    asked = untyped_names(frames.entities, frames.typings, CHUNKS)
    assert [(one.unit.id, one.names) for one in asked] == [
        ("u1", ("remdesivir",)),
        ("u2", ("Zeta assay", "hepatitis")),
    ]
    assert untyped_names(frames.entities, frames.typings.clear(), CHUNKS) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"typing": {"engine": "llm"}}, "only extraction.engine gliner-rebel leaves, not extractive; remove"),
        (
            {"typing": {"enabled": True}, "extraction": {"engine": "gliner-rebel"}},
            "typing needs a model, but the engine extractive does not use one; set typing.engine: llm",
        ),
    ],
)
def test_typing_that_could_do_nothing_is_refused(content: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parse_settings(content, "corpus.yaml")
    assert told in str(raised.value)


def test_typing_is_on_where_the_section_says_anything() -> None:
    def asks(**typing: Any) -> bool:
        content = {"engine": "llm", "extraction": {"engine": "gliner-rebel"}, "typing": typing}
        return parse_settings(content, "corpus.yaml").asks_model("typing")

    assert [asks(), asks(engine="llm"), asks(enabled=True), asks(engine="llm", enabled=False)] == [
        False,
        True,
        True,
        False,
    ]
