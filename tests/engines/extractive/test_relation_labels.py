"""Labels of relations: what a sentence calls what it says of two things."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.graph_extractor import ExtractiveGraphExtractor
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import Lemmas
from graphrag_dagster.kernel.graph.graph_labels import CO_OCCURS, RELATED_TO, relation_label
from graphrag_dagster.kernel.tasks.task_ports import TextUnit


@pytest.fixture(scope="module")
def extractor() -> ExtractiveGraphExtractor:
    return ExtractiveGraphExtractor(processes=1)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ingrid Vell works for the Skarnes Harbour Authority.", "INGRID VELL work_for SKARNES HARBOUR AUTHORITY"),
        ("Microsoft took over Nokia.", "MICROSOFT take_over NOKIA"),
        ("The Harbour Trust was founded by Torquil Haddow.", "HARBOUR TRUST found_by TORQUIL HADDOW"),
        ("Jan Holt became director of the Ropewalk Museum.", "JAN HOLT become_director_of ROPEWALK MUSEUM"),
        ("London is the capital of England.", "LONDON be_capital_of ENGLAND"),
        ("Tim Cook did not acquire Nexora.", "TIM COOK not_acquire NEXORA"),
        ("Ada Lund gave the painting to Jan Holt.", "ADA LUND give_to JAN HOLT"),
        ("Ingrid Vell wanted to buy Nexora.", "INGRID VELL buy NEXORA"),
        ("Haddow's brother Tom Vell lives in Oslo.", "TOM VELL brother_of HADDOW"),
        ("Tim Cook, CEO of Apple, met Ada Lund.", "TIM COOK ceo_of APPLE"),
        ("Nexora's Helion is made by Apple.", "HELION of NEXORA"),
        ("Ada Lund and Jan Holt visited Rome.", "JAN HOLT visit ROME"),
        ("Ada Lund and Jan Holt visited Rome.", "ADA LUND co_occurs JAN HOLT"),
    ],
)  # fmt: skip
def test_a_relation_is_called_by_its_verb_and_preposition(
    extractor: ExtractiveGraphExtractor, sentence: str, expected: str
) -> None:
    (found,) = extractor.extract([TextUnit("u", sentence)])
    assert expected in [f"{one.source} {one.relation} {one.target}" for one in found.relationships]
    assert all((one.relation == CO_OCCURS) == (one.basis == "co_occurrence") for one in found.relationships)


def test_a_pipeline_without_rules_for_base_forms_leaves_words_as_they_are() -> None:
    lemmas = Lemmas(spacy.blank("en"))
    assert (lemmas.of("Founded", "VERB"), lemmas.of("’s", "VERB")) == ("founded", "be")


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("WORKS_FOR", "works_for"),
        ("worksFor", "works_for"),
        (" was born-in ", "was_born_in"),
        ("located in or next to body of water", "located_in_or_next_to_body_of_water"),
        ("isn't part of", "isnt_part_of"),
        ("&lt;type of&gt;", "type_of"),
        ("ＣＥＯ　ｏｆ", "ceo_of"),
        ("हिन्दी भाषा", "हिन्दी_भाषा"),
        ("首都", "首都"),
        ("", None),
        ("9", None),
        ("--", None),
        ("N/A", None),
        ("None", None),
        ("Ilka Venn learned the trade from her uncle Tobin", None),
        ("x" * 81, None),
        (RELATED_TO, RELATED_TO),
        (CO_OCCURS, CO_OCCURS),
    ],
)
def test_labels_are_few_words_in_lower_case(words: str, label: str | None) -> None:
    assert relation_label(words) == label


@given(st.text(max_size=60))
def test_a_label_stays_what_it_is(words: str) -> None:
    label = relation_label(words)
    assert label is None or (relation_label(label) == label and " " not in label and label == label.lower())
