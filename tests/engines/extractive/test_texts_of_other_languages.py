"""Texts in other languages than English from the index to the quotation, and questions in another than theirs."""

import json
from pathlib import Path

from graphrag_dagster.index import Index
from support.commands import Run

LIGHTHOUSE = """El faro de Punta Brava

El faro de Punta Brava fue construido en 1887 por el ingeniero Tomás Olmedo. Durante la tormenta de 1931 se rompió
la lámpara. La farera Carmen Ibáñez rescató a catorce marineros con una barca pequeña. Hoy nadie vive en el faro.
"""
MARKET = """El mercado de Villasol

El mercado abre todas las mañanas. En 2019 el arquitecto Andrés Pombo renovó el techo de hierro y cristal. Los
vecinos protestaron porque los precios subieron después de la reforma. Los billetes del tren cuestan cuatro euros.
"""
BRIDGE = """白鹭桥

白鹭桥横跨青石河，全长一百二十米。1956年，工程师孙文远主持了修复工作。如今桥上禁止汽车通行。
"""


def test_spanish_and_chinese_texts_are_found_and_quoted_word_for_word(home: Path, run: Run) -> None:
    folder = home / "corpora" / "valle"
    folder.mkdir()
    texts = {"faro.txt": LIGHTHOUSE, "mercado.txt": MARKET, "qiao.txt": BRIDGE}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    code, told, errors = run("index", "valle")
    assert (code, "written in Spanish; names by capital letters alone" in told + errors) == (0, True)
    code, told, errors = run("show", "valle")
    assert (code, "written in Chinese; the extractive engine reads English" in told + errors) == (0, True)
    figures = json.loads(run("show", "valle", "--json")[1])
    assert [line.partition(" of ")[0] for line in (*figures["unreadable"], *figures["without_grammar"])] == [
        "1",
        "2",
    ]
    index = Index.open("valle")
    for question, file, words in (
        ("¿Quién rescató a los marineros?", "faro.txt", "Carmen Ibáñez rescató"),
        ("¿Quién renovó el techo?", "mercado.txt", "Andrés Pombo renovó"),
        ("¿Cuánto cuesta un billete del tren?", "mercado.txt", "cuestan cuatro euros"),
        ("谁主持了桥的修复工作？", "qiao.txt", "孙文远主持了修复工作"),
    ):
        for method in ("basic", "local"):
            first = index.ask(question, method=method).sources[0].evidence
            assert first is not None
            assert (first.path, words in first.quotation) == (file, True)
            assert first.quotation in " ".join(texts[file].split())


def test_a_question_in_another_language_says_what_is_amiss(coast: Path) -> None:
    assert coast.is_dir()
    index = Index.open("coast")
    refused = index.ask("Warum wurde die Mole nicht gebaut?", method="basic")
    told = "The question is in German and most of the texts are in English, and the embedder static compares"
    assert refused.refused
    assert told in refused.text
    assert "set embeddings.embedder: multilingual-e5" in refused.text
    named = index.ask("Wer ist Hanna Quill und was ist mit der Dockers Union?", method="basic")
    assert (named.refused, "Hanna Quill" in named.text, told in (named.why or "")) == (False, True, True)
    routed = index.ask("Welche Häfen sind in den Texten?", method="auto")
    assert (routed.why or "").startswith("local: the question is in another language than the texts")
    plain = index.ask("Who led the Dockers Union?", method="basic")
    assert told not in f"{plain.text} {plain.why}"
