"""Answers: context, rounds over the preserved store, and what is noted of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.measures.quality_verdicts import (
    contextual_precision,
    contextual_recall,
    faithfulness,
)
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.coterag.extractive import (
    ExtractiveAnswerValidator,
    ExtractiveEvidenceAnswerer,
    ExtractiveEvidenceRouter,
)
from graphrag_dagster.systems.coterag.search.answer_loop import (
    CoteragAnswer,
    CoteragEngines,
    Supported,
    run_answer_loop,
)
from graphrag_dagster.systems.coterag.settings import CoteragFallback, CoteragSettings
from graphrag_dagster.systems.coterag.tasks import EvidenceAnswer
from support.axis_vectors import FirstAxis
from support.coterag_graphs import Finds, Parts, Says, Specific, chain

MORE = EvidenceAnswer("", "scripted", search_more=True)
QUESTION = "Which drug treats fever?"
PARTS = Parts(
    communities={"c1": ["a", "b", "c"], "c2": ["x", "y"]},
    triples=[("a", "treats", "b"), ("b", "of", "c"), ("c", "near", "x"), ("x", "to", "y")],
    entities={"a": 0.95, "b": 0.9, "c": 0.6, "x": 0.99, "y": 0.99, "p": 0.3, "q": 0.2, "blank": 0.0},
    chunks={
        "u1": ("Aspirin treats fever.", 0.9),
        "u2": ("Aspirin  treats\nfever.", 0.85),
        "u3": ("Fever is a sign.", 0.72),
        "u4": ("Far away.", 0.70),
        "s1": ("The drug is stored cold.", 0.9),
        "s2": ("Aspirin treats fever.", 0.95),
        "s3": ("Nothing near.", 0.80),
    },
    chunks_of={"a": ["u1", "u4"], "b": ["u2", "u3"], "x": ["u3"], "p": ["s1", "s2"], "q": ["s3", "u1"]},
    summaries={"c1": ("All of drugs and fever.", 0.9), "c2": ("Else.", 0.2)},
    terms={"c1": ["drug", "treat", "fever"], "c2": ["fever"]},
)


def ask(parts: Parts = PARTS, question: str = QUESTION, **given: Any) -> CoteragAnswer:
    engines = CoteragEngines(
        CorpusEmbedder(given.pop("embedder", FirstAxis())),
        given.pop("router", Specific()),
        given.pop("answerer", Says(["Aspirin."])),
        given.pop("validator", Finds()),
        given.pop("support", None),
    )
    return run_answer_loop(question, parts.index(), engines, CoteragSettings(**given))


def shown(answer: CoteragAnswer) -> list[tuple[str, Any]]:
    return [(row.part, row.record) for row in answer.context.rows]


def test_the_context_holds_summaries_then_paths_then_distinct_text_units() -> None:
    answer = ask()
    assert shown(answer) == [
        ("summary", "c1"),
        ("path", ("a", "treats", "b")),
        ("chunk", "u1"),
        ("chunk", "u3"),
    ]
    assert [row.unit.id for row in answer.context.rows] == [1, 2, 3, 4]
    found = answer.trace.retrieved
    assert found is not None
    assert [(one.entity_id, round(one.similarity, 2)) for one in found.entities] == [("a", 0.95), ("b", 0.9)]
    assert [one.community_id for one in found.communities] == ["c1"]
    assert (found.terms, found.chunks_below) == (("drug", "fever", "treat"), 1)
    assert [one.entity_id for one in found.chunks] == ["a", "b"]
    assert (answer.trace.generations, answer.trace.rounds, answer.trace.coverage) == (1, (), 1.0)
    assert answer.context.nodes() == [
        "All of drugs and fever.",
        "A treats B.",
        "Aspirin treats fever.",
        "Fever is a sign.",
    ]
    assert answer.trace.only_by_fallback == ()


@pytest.mark.parametrize(("shows", "parts"), [("best", ["summary", "path"]), ("none", ["path"])])
def test_summaries_may_be_left_out(shows: str, parts: list[str]) -> None:
    assert [part for part, _ in shown(ask(summaries=shows))][:-2] == parts


def test_without_communities_paths_are_those_of_the_whole_graph() -> None:
    matched, everywhere = ask(), ask(communities=0)
    paths = [{record for part, record in shown(one) if part == "path"} for one in (matched, everywhere)]
    assert ("x", "to", "y") in paths[1] - paths[0]
    assert "summary" not in {part for part, _ in shown(everywhere)}
    assert everywhere.trace.rounds == ()


def test_no_path_leaves_its_community() -> None:
    parts = replace(PARTS, entities={**PARTS.entities, "c": 0.9})
    answer = ask(parts)
    assert ("path", ("b", "of", "c")) in shown(answer)
    assert not {"x", "y"} & {end for part, record in shown(answer) if part == "path" for end in record}


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_who_always_asks_for_more_is_asked_at_most_once_more_than_there_are_rounds(limit: int) -> None:
    many = {f"s{n}": (f"Text {n}.", 0.9) for n in range(40)}
    parts = replace(PARTS, chunks={**PARTS.chunks, **many}, chunks_of={**PARTS.chunks_of, "p": list(many)})
    answerer = Says([MORE])
    answer = ask(parts, answerer=answerer, fallback=CoteragFallback(rounds=limit))
    assert len(answerer.seen) == answer.trace.generations == limit + 1
    assert (answer.insufficient, answer.answer.text) == (True, "")
    units = [record for part, record in shown(answer) if part in {"chunk", "fallback"}]
    assert len(units) == len(set(units))
    assert [one.most_entities for one in answer.trace.rounds] == {
        0: [],
        1: [10],
        2: [10, 20],
        3: [10, 15, 20],
    }[limit]
    assert list(answer.trace.only_by_fallback) == [r for part, r in shown(answer) if part == "fallback"]


def test_the_store_gives_what_is_new_and_near_enough() -> None:
    answer = ask(answerer=Says([MORE, "Cold."]))
    assert shown(answer)[-1] == ("fallback", "s1")
    assert answer.trace.only_by_fallback == ("s1",)
    [round_] = answer.trace.rounds
    assert (round_.trigger, [one.entity_id for one in round_.entities]) == (
        "search_more",
        ["p", "q", "blank"],
    )
    assert (answer.insufficient, answer.answer.text) == (False, "Cold.")


def test_the_store_never_gives_what_the_main_graph_alone_has() -> None:
    parts = replace(
        PARTS, chunks_of={**PARTS.chunks_of, "q": ["s3"]}, summaries={}, communities=PARTS.communities
    )
    answer = ask(parts, answerer=Says([MORE]))
    assert {record for part, record in shown(answer)} <= {"s1", "s2", "s3"}


def test_text_units_are_ranked_by_terms_too_or_by_similarity_alone() -> None:
    parts = replace(PARTS, chunks={**PARTS.chunks, "u1": ("It lowers heat.", 0.9), "u3": ("Fever.", 0.75)})
    assert [one for part, one in shown(ask(parts)) if part == "chunk"] == ["u2", "u3", "u1"]
    alone = ask(parts, order="similarity")
    assert [one for part, one in shown(alone) if part == "chunk"] == ["u1", "u2", "u3"]


def test_ends_of_sentences_are_not_quoted_where_there_are_whole_ones() -> None:
    answerer = ExtractiveEvidenceAnswerer(FirstAxis())
    chunks = {**PARTS.chunks, "u1": ("of a fever. Aspirin treats fever.", 0.9), "u3": ("of a drug.", 0.9)}
    answer = ask(replace(PARTS, chunks=chunks), answerer=answerer).answer
    assert {text for text, _, _ in answer.quotes} == {"Aspirin treats fever."}


def test_what_covers_no_term_is_not_told() -> None:
    answer = ask(question="Who sails boats?", answerer=ExtractiveEvidenceAnswerer(FirstAxis()))
    assert (answer.insufficient, answer.answer.text) == (True, "")


def test_text_units_of_no_entity_are_preserved() -> None:
    parts = replace(
        PARTS, chunks={**PARTS.chunks, "none": ("Keep the drug cold.", 0.9), "low": ("Cold.", 0.7)}
    )
    answer = ask(parts, answerer=Says([MORE, "Cold."]))
    assert answer.trace.only_by_fallback == ("none", "s1")
    [round_] = answer.trace.rounds
    assert round_.chunks[0].entity_id is None
    of_entities = CoteragFallback(units_without_entities=False)
    answer = ask(parts, answerer=Says([MORE, "Cold."]), fallback=of_entities)
    assert answer.trace.only_by_fallback == ("s1",)


def test_the_answer_opens_with_the_summary_of_the_best_community_where_that_is_wanted() -> None:
    opened = ask(answerer=ExtractiveEvidenceAnswerer(FirstAxis(), overview=True)).answer
    plain = ask(answerer=ExtractiveEvidenceAnswerer(FirstAxis())).answer
    assert [plain.text[one.start : one.end] for one in plain.layout.quotations] == [
        text for text, _, _ in plain.quotes
    ]
    assert opened.text == f"All of drugs and fever. [Data: Reports (1)] {plain.text}"
    assert opened.quotes == (("All of drugs and fever.", 1, None), *plain.quotes)
    hidden = ask(summaries="none", answerer=ExtractiveEvidenceAnswerer(FirstAxis(), overview=True)).answer
    assert (
        hidden.quotes == ask(summaries="none", answerer=ExtractiveEvidenceAnswerer(FirstAxis())).answer.quotes
    )


def test_communities_of_a_class_are_ranked_by_rare_terms_and_their_nearest_member() -> None:
    parts = replace(
        PARTS,
        summaries={"c1": ("Of fever.", 0.8), "c2": ("Else.", 0.85)},
        terms={"c1": ["drug", "treat", "fever"], "c2": ["treat", "fever"]},
        entities={**PARTS.entities, "x": 0.3, "y": 0.3},
    )

    def order(**given: Any) -> list[str]:
        found = ask(parts, **given).trace.retrieved
        return [] if found is None else [one.community_id for one in found.communities]

    assert order() == ["c1", "c2"]
    assert order(order="similarity") == ["c2", "c1"]


def test_without_a_community_the_first_answer_sees_nothing_and_the_store_is_searched() -> None:
    answerer = Says(["What I think.", "Cold."])
    answer = ask(replace(PARTS, summaries={"c1": ("Else.", 0.75)}), answerer=answerer)
    assert answerer.seen[0] == []
    assert [one.trigger for one in answer.trace.rounds] == ["no_community"]
    assert answer.answer.text == "Cold."
    off = ask(replace(PARTS, summaries={"c1": ("Else.", 0.75)}), fallback=CoteragFallback(no_community=False))
    assert (off.trace.rounds, off.trace.generations) == ((), 1)


def test_each_trigger_has_its_switch() -> None:
    assert ask(answerer=Says([MORE]), fallback=CoteragFallback(search_more=False)).trace.rounds == ()
    bad = {"validator": Finds(["insufficient", "ok"])}
    assert [one.trigger for one in ask(**bad).trace.rounds] == ["validator"]
    off = ask(validator=Finds(["insufficient"]), fallback=CoteragFallback(validator=False))
    assert (off.trace.rounds, off.trace.validations) == ((), ())
    wanting = {"question": "Which drug treats zebras?"}
    assert ask(**wanting).trace.rounds == ()
    asked_for = ask(**wanting, fallback=CoteragFallback(coverage=True))
    assert [one.trigger for one in asked_for.trace.rounds] == ["coverage"] * 2
    low = ask(support=lambda *_: Supported(0.2), fallback=CoteragFallback(support=True))
    assert [one.trigger for one in low.trace.rounds] == ["support"] * 2
    assert low.trace.support == 0.2
    assert ask(support=lambda *_: Supported(0.2)).trace.support is None


def test_the_last_answer_is_validated_though_nothing_follows() -> None:
    finds = Finds(["insufficient"])
    answer = ask(validator=finds)
    # The second round adds nothing: there is one answer less than there might be.
    assert (answer.trace.generations, finds.asked, len(answer.trace.rounds)) == (2, 2, 2)
    assert answer.trace.validations[-1].verdict == "insufficient"
    assert not answer.insufficient


def test_the_best_partial_answer_is_kept() -> None:
    half = EvidenceAnswer("Half.", "scripted", search_more=True, coverage=0.5)
    third = EvidenceAnswer("Third.", "scripted", search_more=True, coverage=0.3)
    answer = ask(answerer=Says([half, third]))
    assert (answer.insufficient, answer.answer.text) == (True, "Half.")


def test_a_general_question_is_answered_without_documents() -> None:
    direct = EvidenceAnswer("Hello.", "scripted")
    answer = ask(router=Specific(route_to="general"), answerer=Says(["x"], direct=direct))
    assert (answer.answer, answer.context.rows, answer.trace.retrieved) == (direct, (), None)
    nobody = ask(router=Specific(route_to="general"))
    assert nobody.trace.route.route == "specific"
    assert "nobody here can answer without documents" in nobody.trace.route.reason


def test_the_route_follows_names_and_nearness() -> None:
    router = ExtractiveEvidenceRouter()
    near = Specific()
    ask(router=near, question="Is THE blank of p?")
    assert near.cues.names == ("Blank", "P")
    assert router.route("?", near.cues).route == "specific"
    assert router.route("?", replace(near.cues, names=())).route == "specific"
    assert router.route("?", replace(near.cues, names=(), nearest=0.4)).route == "general"


def test_a_question_without_a_vector_is_near_nothing() -> None:
    class Blank(FirstAxis):
        def embed(self, texts: Any) -> Any:
            return np.zeros((len(texts), 8), dtype=np.float32)

    answer = ask(embedder=Blank(), answerer=Says([MORE]))
    assert (answer.trace.blank_question, answer.context.rows, answer.insufficient) == (True, (), True)


def test_the_question_must_be_embedded_as_the_index_was() -> None:
    with pytest.raises(QuestionError, match="embedded by 'other', the index was by 'chosen'"):
        ask(embedder=FirstAxis("other"))


def test_an_empty_index_has_insufficient_evidence() -> None:
    empty = Parts({}, [], {})
    answer = ask(
        empty,
        answerer=ExtractiveEvidenceAnswerer(FirstAxis()),
        validator=ExtractiveAnswerValidator(),
        router=ExtractiveEvidenceRouter(),
    )
    assert (answer.insufficient, answer.answer.text, len(answer.trace.rounds)) == (True, "", 1)


def test_quotations_answer_or_ask_for_more() -> None:
    engines = {"answerer": ExtractiveEvidenceAnswerer(FirstAxis()), "validator": ExtractiveAnswerValidator()}
    answer = ask(**engines, question="What treats fever?")
    assert (
        answer.answer.text == "Aspirin treats fever. [Data: Sources (3)] Fever is a sign. [Data: Sources (4)]"
    )
    assert (answer.answer.coverage, answer.insufficient) == (1.0, False)
    assert answer.trace.validations[-1].verdict == "ok"
    wanting = ask(**engines, question="Where do zebras sleep?")
    assert wanting.insufficient
    nothing = ask(**engines, question="What is it?")
    assert (nothing.insufficient, nothing.answer.text) == (True, "")


def test_headings_are_not_quoted() -> None:
    text = "Drugs against fever\n\n## What treats fever\n\nAspirin treats fever.\nA drug of 1899"
    spans = [Span(0, 19), Span(21, 41), Span(43, 64), Span(65, len(text))]
    sentences = tuple((text[one.start : one.end], Quote("u", one)) for one in spans)
    row = ContextUnit(1, "doc", text, sentences, "source")
    made = ExtractiveEvidenceAnswerer(FirstAxis()).answer("Which drug of 1899 treats fever?", [row])
    assert {quoted for quoted, _, _ in made.quotes} == {"Aspirin treats fever.", "A drug of 1899"}


def test_a_text_that_says_the_signal_is_quoted_and_no_signal() -> None:
    chunks = {**PARTS.chunks, "u1": ("SEARCH_MORE is what fever says.", 0.9)}
    answer = ask(
        replace(PARTS, chunks=chunks),
        question="What says fever?",
        answerer=ExtractiveEvidenceAnswerer(FirstAxis()),
        validator=ExtractiveAnswerValidator(),
    )
    assert answer.answer.text.startswith("SEARCH_MORE is what fever says.")
    assert not answer.insufficient


def test_what_the_context_does_not_hold_is_not_accepted() -> None:
    rows = ask().context.units
    validator = ExtractiveAnswerValidator()
    invented = EvidenceAnswer("Aspirin treats fever. The drug cures all.", "scripted")
    assert "The drug cures all" in validator.validate(QUESTION, rows, invented).reason
    thin = EvidenceAnswer("Fever is a sign.", "scripted")
    assert validator.validate(QUESTION, rows, thin).verdict == "insufficient"


def test_contextual_precision_depends_on_the_order_of_nodes() -> None:
    assert contextual_precision(["yes", "no", "yes"]).value == pytest.approx(0.8333, abs=1e-4)
    assert contextual_precision(["no", "yes", "yes"]).value == pytest.approx(0.5833, abs=1e-4)
    assert contextual_precision(["no", "no"]).value == 0
    assert contextual_recall(["yes", "no", "yes"]) == contextual_recall(["no", "yes", "yes"])
    assert faithfulness(["yes", "idk", "no"]).value == pytest.approx(2 / 3)
    assert faithfulness(["yes", "idk", "no"], idk_is_truthful=False).value == pytest.approx(1 / 3)


cosines = st.floats(0.01, 1)
names = st.sampled_from("abcdefgh")


@given(
    st.dictionaries(names, cosines, min_size=1),
    st.lists(st.tuples(names, st.just("r"), names), max_size=15),
    st.dictionaries(
        st.sampled_from([f"u{n}" for n in range(12)]),
        st.tuples(st.sampled_from(["One.", "Two.", "Three."]), cosines),
    ),
    st.lists(st.sampled_from([MORE, "Said."]), min_size=1, max_size=4),
    st.integers(0, 4),
)
def test_every_answer_ends_and_shows_no_text_twice(
    entities: dict[str, float], triples: list[Any], chunks: dict[str, Any], replies: list[Any], rounds: int
) -> None:
    members = sorted(entities)
    half = len(members) // 2
    owners = {
        name: [unit for n, unit in enumerate(sorted(chunks)) if n % len(members) == place]
        for place, name in enumerate(members)
    }
    parts = Parts(
        {"c": members[:half]} if half else {},
        [row for row in triples if {row[0], row[2]} <= set(members) and row[0] != row[2]],
        entities,
        chunks,
        owners,
        {"c": ("Sum.", 0.9)} if half else {},
        {"c": ["drug", "fever"]} if half else {},
    )
    answerer = Says(replies)
    answer = ask(
        parts, answerer=answerer, validator=Finds(["insufficient"]), fallback=CoteragFallback(rounds=rounds)
    )
    assert answer.trace.generations == len(answerer.seen) <= rounds + 1
    texts = [row.unit.text for row in answer.context.rows if row.part in {"chunk", "fallback"}]
    assert len(texts) == len(set(texts))
    assert all(chunks[one][1] > parts.thresholds.fallback for one in answer.trace.only_by_fallback)


def test_the_chain_of_seven() -> None:
    parts = Parts(
        {"c": list("abcdefg")},
        chain(*"abcdefg"),
        dict.fromkeys("abcdefg", 0.9),
        summaries={"c": ("Sum.", 0.9)},
        terms={"c": ["fever"]},
    )
    answer = ask(parts, entities=1)
    ends = {end for part, record in shown(answer) if part == "path" for end in record if len(end) == 1}
    assert ends == set("abcdef")
