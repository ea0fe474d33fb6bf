"""Which language a text unit is in: prose is told, what is no prose is read."""

from pathlib import Path

import polars as pl
import pytest
import spacy

from graphrag_dagster.engines.extractive.claim_extraction import ExtractiveClaimExtractor
from graphrag_dagster.engines.extractive.graph_extractor import ExtractiveGraphExtractor
from graphrag_dagster.engines.extractive.parsing.language_detection import (
    likely_languages,
    name_of,
    unreadable_reason,
)
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import load_pipeline
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.systems.graphrag.index.extraction_tables import (
    ExtractionFrames,
    check_ledger,
    check_something_read,
    extraction_frames,
    units_without_grammar,
    unreadable_units,
    with_claims,
)
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings

ENGLISH = "Ingrid Vell founded the yard in 1998. She sold it to the harbour authority, which had wanted it for years."
FOREIGN = {
    "German": "Der Vorstand der Werft beschloss am Montag, das Gelände an die Hafenbehörde zu verkaufen, weil niemand "
    "mehr neue Schiffe bestellte. Frau Vell war dagegen und trat zurück.",
    "French": "Le conseil du chantier a décidé lundi de vendre le terrain à la direction du port, parce que personne ne "
    "commandait plus de nouveaux navires. Madame Vell était contre et a quitté son poste.",
    "Spanish": "El consejo del astillero decidió el lunes vender el terreno a la autoridad del puerto, porque ya nadie "
    "encargaba barcos nuevos. La señora Vell estaba en contra y dimitió.",
    "Italian": "Il consiglio del cantiere ha deciso lunedì di vendere il terreno alla direzione del porto, perché nessuno "
    "ordinava più navi nuove. La signora Vell era contraria e si è dimessa.",
    "Dutch": "Het bestuur van de werf besloot maandag om het terrein aan de haven te verkopen, omdat niemand meer nieuwe "
    "schepen bestelde. Mevrouw Vell was ertegen en trad af.",
    "Polish": "Zarząd stoczni postanowił w poniedziałek sprzedać teren portowi, ponieważ nikt już nie zamawiał nowych "
    "statków. Pani Vell była przeciwna i zrezygnowała.",
    "Russian": "Правление верфи решило в понедельник продать участок порту, потому что никто больше не заказывал новые "
    "суда. Госпожа Велл была против и ушла в отставку.",
    "Chinese": "造船厂的董事会星期一决定把土地卖给港务局，因为已经没有人订购新船了。韦尔女士表示反对，并且辞去了职务。",
    "Japanese": "造船所の取締役会は月曜日に土地を港湾局へ売却することを決めました。新しい船を注文する人がもういなかったからです。",
    "Arabic": "قرر مجلس إدارة حوض السفن يوم الاثنين بيع الأرض إلى سلطة الميناء لأن أحدا لم يعد يطلب سفنا جديدة.",
}  # fmt: skip
NO_PROSE = [
    "",
    "Ja.",
    "Die Werft wurde verkauft.",
    "1.2 | 3.4 | 5.6\n7 | 8 | 9\n" * 40,
    "Jean-Pierre Dubois, Anne-Marie Laurent, Wolfgang Müller, José García, Giuseppe Verdi, Łukasz Żak\n" * 10,
    "id,name,value\n1,Haus,23\n2,Baum,44\n3,Straße,7\n" * 10,
    "for (int i = 0; i < n; i++) { x[i] = foo(bar, baz); }\nreturn std::vector<int>(n);\n" * 10,
    "https://www.beispiel.de/über/uns?seite=3\n" * 10,
    "\ufffd\x00\u200b" * 50,
]


@pytest.mark.parametrize("language", FOREIGN)
def test_prose_in_another_language_is_told(language: str) -> None:
    told = f"written in {language}; the extractive engine reads English"
    assert unreadable_reason(FOREIGN[language], ["en"]) == told
    assert unreadable_reason(FOREIGN[language] * 200, ["en"]) == told
    assert unreadable_reason(FOREIGN[language], []) is None


@pytest.mark.parametrize("text", NO_PROSE)
def test_what_is_no_prose_is_read(text: str) -> None:
    assert unreadable_reason(text, ["en"]) is None


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        ENGLISH.upper(),
        "Wee, sleekit beastie, O, what a panic's in thy breastie! Thou need na start awa sae hasty.",
        "speaker 2: yeah so um we're gonna like push that back a week you know because nobody's ready",
        f"{ENGLISH} {FOREIGN['German']}",
        f"{FOREIGN['French'][:80]} {ENGLISH}",
    ],
)
def test_english_is_read_also_beside_another_language(text: str) -> None:
    assert unreadable_reason(text, ["en"]) is None


def test_other_languages_are_read_where_the_settings_say_so() -> None:
    assert unreadable_reason(FOREIGN["German"], ["de", "en"]) is None
    assert (
        unreadable_reason(ENGLISH * 3, ["de", "fr"])
        == "written in English; the extractive engine reads German and French"
    )


@pytest.mark.parametrize(
    ("code", "name"), [("de", "German"), ("no", "Norwegian"), ("grc", "Ancient Greek"), ("ka", "Georgian")]
)
def test_languages_have_names(code: str, name: str) -> None:
    assert name_of(code) == name


def test_a_language_without_a_name_is_called_by_its_code() -> None:
    assert name_of("lij") in {"Ligurian", "the language 'lij'"}
    assert name_of("zxx") == "the language 'zxx'"
    assert likely_languages(FOREIGN["German"]) == ("de",)


def test_a_language_without_capitals_is_not_read_and_the_ledger_says_why() -> None:
    units = [TextUnit("a", ENGLISH), TextUnit("b", FOREIGN["Chinese"]), TextUnit("c", FOREIGN["Chinese"])]
    frames = ledger_of(units)
    assert frames.ledger["state"].to_list() == ["extracted", "unreadable", "unreadable"]
    assert set(frames.entities["text_unit_id"]) == {"a"}
    told = "written in Chinese; the extractive engine reads English"
    assert unreadable_units(frames.ledger) == [f"2 of 3 text units unreadable: {told}"]
    assert units_without_grammar(frames.ledger) == []
    # Its words are searched.
    assert check_something_read(frames.ledger[1:]) == []
    assert check_something_read(frames.ledger.clear()) == []
    lost = frames.ledger[1:].with_columns(state=pl.lit("quarantined"), reason=pl.lit("no reply"))
    assert check_something_read(lost) == ["2 of 2 text units quarantined: no reply"]


def test_a_language_with_capitals_gives_names_alone() -> None:
    frames = ledger_of([TextUnit("a", ENGLISH), TextUnit("b", SPANISH), TextUnit("c", GERMAN)])
    assert frames.ledger["state"].to_list() == ["extracted"] * 3
    assert [line.partition(": ")[2].split("; ")[:2] for line in units_without_grammar(frames.ledger)] == [
        ["written in German", "names by capital letters alone"],
        ["written in Spanish", "names by capital letters alone"],
    ]
    by_unit = {
        unit: frames.entities.filter(text_unit_id=unit)["surface"].to_list()
        for unit in frames.ledger["text_unit_id"]
    }
    assert by_unit["b"] == ["Carmen Ibáñez", "Compañía del Norte", "Villasol"]
    # No noun of German is a name for its capital: not Werft, Hafenbehörde or Montag.
    assert by_unit["c"] == ["Karsten Vellmann", "Sommerfeld", "Stiftung Altmark"]
    assert frames.entities.filter(surface="Sommerfeld")["type"].to_list() == ["PERSON"]
    related = frames.relationships.filter(text_unit_id="b")
    assert set(related["basis"]) == {"co_occurrence"}
    assert related["source", "target"].rows() == [("CARMEN IBÁÑEZ", "COMPAÑÍA DEL NORTE")]
    for unit, text in (("b", SPANISH), ("c", GERMAN)):
        for entity in ExtractiveGraphExtractor(processes=1).extract([TextUnit(unit, text)]):
            assert all(text[s.start : s.end] == e.surface for e in entity.entities for s in e.spans[:1])


SPANISH = (
    "La farera Carmen Ibáñez trabajó para la Compañía del Norte hasta que se cerró la línea. Después vivió en "
    "Villasol, donde abrió una escuela. Nadie sabe por qué no volvió nunca al faro."
)
GERMAN = (
    "Am Montag verkaufte der Neffe die Werft an die Hafenbehörde. Später kam Karsten Vellmann zurück, und Frau "
    "Sommerfeld bezahlte das alte Haus, weil die Stiftung Altmark es nicht wollte. Karsten Vellmann war dagegen."
)


def ledger_of(units: list[TextUnit]) -> ExtractionFrames:
    """What the rules extract, with claims; every row is accounted for."""
    found = list(ExtractiveGraphExtractor(processes=1).extract(units))
    names = [sorted({entity.name for entity in one.entities}) for one in found]
    claims = list(ExtractiveClaimExtractor(processes=1).extract_claims(units, names))
    frames = extraction_frames(with_claims(found, claims), "extractive")
    assert not check_ledger(
        text_chunks=pl.DataFrame({"text_unit_id": [unit.id for unit in units]}),
        unit_ledger=frames.ledger,
        gleaned_entities=frames.entities,
        gleaned_relationships=frames.relationships,
        claims=frames.claims,
        quarantine=frames.quarantine,
    )
    return frames


def test_a_pipeline_of_another_language_names_and_relates(tmp_path: Path) -> None:
    nlp = spacy.blank("fr")
    nlp.add_pipe("entity_ruler", name="ner").add_patterns(
        [{"label": "PER", "pattern": "Louise Caradec"}, {"label": "LOC", "pattern": "Nantes"}]
    )
    nlp.to_disk(tmp_path / "french")
    text = "C'est Louise Caradec qui a payé les réparations du moulin.\nElle est née à Nantes avec Louise Caradec."
    units = [TextUnit("a", text), TextUnit("b", FOREIGN["German"]), TextUnit("c", " ")]
    pipeline = str(tmp_path / "french")
    found = list(ExtractiveGraphExtractor(pipeline, 1, ["fr"]).extract(units))
    assert [(one.state, one.reason) for one in found] == [
        ("extracted", "names by the French spaCy pipeline, no grammar"),
        ("extracted", "written in German; names by capital letters alone"),
        ("empty", "no text"),
    ]
    assert [(one.surface, one.type) for one in found[0].entities] == [
        ("Louise Caradec", "PERSON"),
        ("Nantes", "GEO"),
    ]
    assert [text[span.start : span.end] for one in found[0].entities for span in one.spans] == [
        "Louise Caradec",
        "Louise Caradec",
        "Nantes",
    ]
    assert [(one.source, one.target) for one in found[0].relationships] == [("NANTES", "LOUISE CARADEC")]
    claims = list(ExtractiveClaimExtractor(pipeline, 1, ["fr"]).extract_claims(units[:1], [["NANTES"]]))
    assert [(one.state, one.reason) for one in claims] == [
        ("unreadable", "the rules for claims read English")
    ]


def test_the_languages_are_those_of_the_pipeline_unless_they_are_given() -> None:
    assert ExtractionSettings().languages == ["en"]
    assert ExtractionSettings.model_validate({"pipeline": "fr_core_news_sm"}).languages == ["fr"]
    assert ExtractionSettings.model_validate({"pipeline": "/models/fr"}).languages == ["en"]
    given = {"pipeline": "fr_core_news_sm", "languages": ["fr", "en"]}
    assert ExtractionSettings.model_validate(given).languages == ["fr", "en"]


def test_a_placeholder_under_the_name_of_a_pipeline_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ja_core_news_sm"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('its code has run')", encoding="utf-8")
    told = tmp_path / "ja_core_news_sm-999.9.9.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ja-core-news-sm\nVersion: 999.9.9\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        EngineError, match=r"version 999\.9\.9 is not by the authors of spaCy .* pip uninstall ja-core"
    ):
        load_pipeline("ja_core_news_sm")


def test_a_missing_pipeline_is_not_asked_of_the_registry() -> None:
    with pytest.raises(EngineError, match=r"python -m spacy download xx_none_sm; pip install takes some"):
        load_pipeline("xx_none_sm")
