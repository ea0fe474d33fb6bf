import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.neural.neural_extractor import assemble_records
from graphrag_dagster.engines.neural.rebel_parsing import LabelledMention, by_name, join_mentions, parse
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.settings import SCIENTIFIC

TEXT = "Remdesivir treats COVID-19. In  Wuhan, remdesivir\nwas given; remdesivir is new."


def mention(text: str, words: str, label: str, score: float = 0.9, at: int = 0) -> LabelledMention:
    start = text.index(words, at)
    return LabelledMention(Span(start, start + len(words)), label, score)


def extracted(written: str, text: str = TEXT, *wanted: str) -> UnitExtraction:
    found = [mention(text, "Remdesivir", "drug"), mention(text, "Wuhan", "city")]
    return assemble_records(TextUnit("u", text), by_name(text, found), [parse(written)], wanted)


def test_mentions_of_one_label_that_touch_are_one() -> None:
    text = "SARS-CoV-2 spike, spike protein"
    first, second = mention(text, "SARS-CoV-2", "protein", 0.8), mention(text, "spike", "protein", 0.95)
    third, fourth = mention(text, "spike protein", "protein"), mention(text, "protein", "gene")
    assert join_mentions([second, first]) == [LabelledMention(Span(0, 16), "protein", 0.95)]
    assert join_mentions([first, second, third])[1:] == [third]
    assert join_mentions([LabelledMention(Span(0, 4), "a", 0.8), LabelledMention(Span(5, 9), "b", 0.8)])[
        0
    ].span == Span(0, 4)
    assert len(join_mentions([third, fourth])) == 2


@given(
    st.lists(
        st.builds(
            lambda s, n, label: LabelledMention(Span(s, s + n), label, 0.9),
            st.integers(0, 30),
            st.integers(1, 5),
            st.sampled_from("ab"),
        )
    )
)
def test_joining_loses_no_character_and_is_done_once(mentions: list[LabelledMention]) -> None:
    def covered(found: list[LabelledMention]) -> set[tuple[int, str]]:
        return {(at, one.label) for one in found for at in range(one.span.start, one.span.end)}

    found = join_mentions(mentions)
    assert covered(mentions) <= covered(found)
    assert join_mentions(list(reversed(mentions))) == found
    assert all(one.score == 0.9 for one in found)


def test_a_name_has_the_label_of_most_mentions_and_of_as_many_that_of_the_surest() -> None:
    text = "zinc zinc Zinc zinc"
    labels = [("drug", 0.8), ("chemical", 0.9), ("drug", 0.75), ("chemical", 0.71)]
    found = [LabelledMention(Span(5 * n, 5 * n + 4), label, score) for n, (label, score) in enumerate(labels)]
    [named] = by_name(text, found)
    assert (named.name, named.surface, named.label, len(named.spans)) == ("ZINC", "zinc", "chemical", 4)
    assert by_name(text, found[:3])[0].label == "drug"
    assert by_name("--", [LabelledMention(Span(0, 2), "drug", 0.9)]) == []


def test_records_name_their_places_and_are_there_once() -> None:
    written = "<triplet> Remdesivir <subj> COVID-19 <obj> drug used for treatment " * 2
    made = extracted(written)
    assert [(one.name, one.type) for one in made.entities] == [
        ("REMDESIVIR", "DRUG"),
        ("WUHAN", "CITY"),
        ("COVID-19", "UNKNOWN"),
    ]
    assert [TEXT[s.start : s.end] for one in made.entities for s in one.spans] == [
        "Remdesivir",
        "Wuhan",
        "COVID-19",
    ]
    assert made.entities[2].description == "Remdesivir treats COVID-19."
    assert made.entities[1].description == "In Wuhan, remdesivir was given; remdesivir is new."
    [relation] = made.relationships
    assert (relation.source, relation.relation, relation.target) == (
        "REMDESIVIR",
        "drug_used_for_treatment",
        "COVID-19",
    )
    assert relation.description == "Remdesivir drug used for treatment COVID-19."
    assert [TEXT[span.start : span.end].strip() for span in relation.spans] == ["Remdesivir treats COVID-19."]
    assert (relation.basis, made.state, made.quarantined) == ("model", "extracted", ())


def test_an_end_that_the_text_does_not_name_is_an_entity_without_a_place() -> None:
    made = extracted(
        "<triplet> remdesivir <subj> Ritonavir <obj> has part <subj> Ebola-like thing <obj> treats"
    )
    assert [(one.name, one.type, one.spans) for one in made.entities[2:]] == [
        ("RITONAVIR", "UNKNOWN", ()),
        ("EBOLA-LIKE THING", "UNKNOWN", ()),
    ]
    assert made.entities[3].description == "remdesivir treats Ebola-like thing."
    assert [one.spans for one in made.relationships] == [(), ()]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("<triplet> Remdesivir <subj> remdesivir <obj> same as", "head and tail are the same"),
        ("<triplet> -- <subj> Wuhan <obj> in", "the head is no name"),
        ("<triplet> Wuhan <subj> … <obj> in", "the tail is no name"),
        ("<triplet> Wuhan <subj> Remdesivir <obj> !!", "the relation is no label"),
        (
            f"<triplet> {'a' * 1001} <subj> Wuhan <obj> in",
            "the head has 1,001 characters; at most 1,000 are taken",
        ),
        ("<triplet> Wuhan <subj> Remdesivir", "no relation"),
    ],
)
def test_what_is_no_relation_is_put_aside_and_makes_no_entity(written: str, reason: str) -> None:
    made = extracted(written)
    assert [(one.kind, one.reason) for one in made.quarantined] == [("relationship", reason)]
    assert (len(made.entities), made.relationships) == (2, ())


def test_other_relations_than_the_wanted_are_not_taken_nor_what_only_they_name() -> None:
    written = "<triplet> Remdesivir <subj> Wuhan <obj> Has Cause <subj> Paris <obj> located in"
    made = extracted(written, TEXT, "has_cause")
    assert [one.relation for one in made.relationships] == ["has_cause"]
    assert len(made.entities) == 2


def test_a_unit_of_which_nothing_is_left_says_so() -> None:
    made = assemble_records(TextUnit("u", "x"), [], [parse("words")])
    assert (made.state, made.reason, len(made.quarantined)) == ("empty", "no entities found", 1)


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9))), st.text(max_size=60))
def test_ends_of_relations_are_entities_whatever_the_text(
    text: str, places: list[tuple[int, int]], written: str
) -> None:
    found = [LabelledMention(Span(s, min(s + n, len(text))), "drug", 0.9) for s, n in places if s < len(text)]
    parsed = [parse(f"<triplet> {written} <subj> {text} <obj> treats"), parse(written)]
    made = assemble_records(TextUnit("u", text), by_name(text, join_mentions(found)), parsed)
    names = {one.name for one in made.entities}
    assert all({one.source, one.target} <= names for one in made.relationships)
    assert all(normalise(one.name) == one.name for one in made.entities)
    assert all(0 <= s.start < s.end <= len(text) for one in made.entities for s in one.spans)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            {"gliner": {"labels": ["drug", " Drug "]}},
            "' Drug ' is a duplicate of 'drug'; remove one of them",
        ),
        ({"gliner": {"labels": ["drug", "  "]}}, "'  ' is blank; use a label with a letter or a digit"),
        ({"gliner": {"labels": []}}, "extraction.gliner.labels"),
        ({"gliner": {"threshold": 1}}, "extraction.gliner.threshold"),
        ({"gliner": {"model": "../model"}}, "extraction.gliner.model"),
        ({"rebel": {"model": "models/rebel/large"}}, "extraction.rebel.model"),
        ({"rebel": {"model": "owner/name@../x"}}, "extraction.rebel.model"),
        ({"rebel": {"relations": ["treats", "?"]}}, "'?' is not a relation; write it in at most 8 words"),
        ({"rebel": {"beams": 0}}, "extraction.rebel.beams"),
    ],
)
def test_settings_of_no_use_are_refused_clearly(content: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parse_settings({"extraction": content}, "corpus.yaml")
    assert told in str(raised.value)


def test_the_engine_extracts_and_does_nothing_else() -> None:
    own = parse_settings({"extraction": {"engine": "gliner-rebel"}}, "corpus.yaml").extraction
    assert tuple(own.gliner.labels) == SCIENTIFIC
    with pytest.raises(SettingsError, match="the engine gliner-rebel cannot do"):
        parse_settings({"engine": "gliner-rebel"}, "corpus.yaml")
