"""Questions with reference answers from sampled documents: what is kept, asked again, and left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.questions.persona_questions import all_questions, references
from graphrag_dagster.apps.evaluation.questions.question_tables import TESTSET_DOCUMENTS, TESTSET_QUESTIONS
from graphrag_dagster.apps.evaluation.questions.reference_questions import sample_documents, write_testset
from graphrag_dagster.apps.evaluation.tasks import DocumentRequest, ReferenceDraft, ReferenceDrafts
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.task_ports import Engine

TEXTS = {
    "a": "The bell of Tarn Beck rang at noon. Nobody knew why. The mayor had it silenced in May.",
    "b": "Skerry Point has two tides a day. A turbine was built there in 2016.",
    "c": "…",
}
ASKED_ONCE = Usage(1, 10, 5)


def documents(texts: dict[str, str]) -> pl.DataFrame:
    rows = [{"document_id": key, "title": f"Of {key}", "text": text} for key, text in texts.items()]
    return pl.DataFrame(rows, schema=dict.fromkeys(("document_id", "title", "text"), pl.String))


@dataclass
class Planned:
    """A writer that says what it is told to: drafts, or a problem, for the request and its round."""

    say: Callable[[DocumentRequest, int], Sequence[ReferenceDraft] | str]
    engine: Engine = "llm"
    asked: list[DocumentRequest] = field(default_factory=list)

    def write(self, requests: Sequence[DocumentRequest]) -> list[ReferenceDrafts]:
        return [self._one(one) for one in requests]

    def _one(self, asked: DocumentRequest) -> ReferenceDrafts:
        again = sum(one.title == asked.title for one in self.asked)
        self.asked.append(asked)
        said = self.say(asked, again)
        if isinstance(said, str):
            return ReferenceDrafts((), said, ASKED_ONCE)
        return ReferenceDrafts(tuple(said), usage=ASKED_ONCE)


def numbered(asked: DocumentRequest, again: int) -> list[ReferenceDraft]:
    return [ReferenceDraft(f"{asked.title} {again}.{n}?", f"It is {n}.") for n in range(asked.count)]


def whole(text: str) -> str:
    return text


@given(st.permutations(sorted(TEXTS)), st.integers(0, 5), st.integers(0, 3))
def test_a_sample_depends_on_its_seed_and_not_on_the_order(order: list[str], count: int, seed: int) -> None:
    every = {key: f"text {key}" for key in "abcdefgh"}
    shuffled = {key: every[key] for key in [*order, *(key for key in every if key not in order)]}
    drawn = sample_documents(documents(shuffled), count, seed)
    assert drawn.equals(sample_documents(documents(every), count, seed))
    assert drawn.equals(sample_documents(documents(every), 8, seed).head(count))
    assert drawn["document_id"].n_unique() == count


def test_seeds_draw_different_samples_and_documents_without_words_are_not_drawn() -> None:
    every = documents({str(number): "text" for number in range(40)})
    samples = {tuple(sample_documents(every, 5, seed)["document_id"]) for seed in range(5)}
    assert len(samples) == 5
    assert sorted(sample_documents(documents(TEXTS), 10, 1)["document_id"]) == ["a", "b"]


def test_every_question_keeps_its_document_and_the_words_that_say_so() -> None:
    def say(asked: DocumentRequest, _: int) -> list[ReferenceDraft]:
        if asked.title == "Of a":
            return [
                ReferenceDraft("Who silenced the bell?", "The mayor.", "the  MAYOR had it silenced"),
                ReferenceDraft("When did it ring?", "At noon.", "it rang at midnight"),
            ]
        return [
            ReferenceDraft("How many tides?", "Two."),
            ReferenceDraft("What was built?", "A turbine.", "..."),
        ]

    made = write_testset(Planned(say), documents(TEXTS).head(2), 2, whole)
    questions = TESTSET_QUESTIONS.frame(made.questions)
    assert questions["document_id"].to_list() == ["a", "a", "b", "b"]
    first, second, *others = questions.rows(named=True)
    assert first["evidence"] == "The mayor had it silenced"
    assert TEXTS["a"][first["start_char"] : first["end_char"]] == first["evidence"]
    assert [one["evidence"] for one in (second, *others)] == [None, None, None]
    told = TESTSET_DOCUMENTS.frame(made.documents)
    assert told.select("wanted", "written", "repeats", "rejected").rows() == [(2, 2, 0, 0)] * 2
    assert told["problem"].null_count() == 2


def test_what_is_of_no_use_is_counted_and_asked_for_again() -> None:
    def say(asked: DocumentRequest, again: int) -> list[ReferenceDraft]:
        if again:
            return [ReferenceDraft("Why did  THE bell ring?", "x"), *numbered(asked, again)]
        return [
            ReferenceDraft("Why did the bell ring?", "Nobody knew."),
            ReferenceDraft("why did the bell ring?", "It is there already."),
            ReferenceDraft("And this?", ""),
            ReferenceDraft("", "An answer."),
            ReferenceDraft("x" * 5000, "Too long to be asked."),
        ]

    writer = Planned(say)
    made = write_testset(writer, documents(TEXTS).head(1), 3, whole)
    assert [one.count for one in writer.asked] == [3, 3]
    assert writer.asked[1].avoid == ("Why did the bell ring?",)
    (told,) = made.documents
    assert (told["written"], told["repeats"], told["rejected"]) == (3, 1, 5)
    assert "a question is there already" in told["problem"]
    assert "and so on" in told["problem"]
    assert [one["position"] for one in made.questions] == [0, 1, 2]


def test_a_question_is_asked_of_one_document_only() -> None:
    def say(_: DocumentRequest, again: int) -> list[ReferenceDraft]:
        return [ReferenceDraft(f"What is it, {again}?", "Something.")]

    made = write_testset(Planned(say), documents(TEXTS).head(2), 1, whole)
    assert [(one["document_id"], one["question"]) for one in made.questions] == [
        ("a", "What is it, 0?"),
        ("b", "What is it, 1?"),
    ]


def test_a_document_that_stays_short_says_why_and_the_others_go_on() -> None:
    writer = Planned(
        lambda asked, again: "the reply is empty" if asked.title == "Of a" else numbered(asked, again)
    )
    made = write_testset(writer, documents(TEXTS).head(2), 2, whole)
    lost, good = made.documents
    assert (lost["written"], lost["problem"], lost["repeats"]) == (0, "the reply is empty", 0)
    assert (good["written"], good["problem"]) == (2, None)
    lazy = Planned(lambda asked, again: numbered(asked, again)[:1] if not again else [])
    (told,) = write_testset(lazy, documents(TEXTS).head(1), 3, whole).documents
    assert (told["written"], told["repeats"]) == (1, 2)


def test_without_a_single_question_it_fails_and_says_why() -> None:
    with pytest.raises(EngineError, match=r"from 2 documents: the reply is empty. .*model.tasks.testset"):
        write_testset(Planned(lambda *_: "the reply is empty"), documents(TEXTS).head(2), 2, whole)
    assert write_testset(Planned(numbered), documents({}), 2, whole).questions == []


def test_only_the_beginning_of_a_long_document_is_shown_and_that_is_told() -> None:
    writer = Planned(numbered)
    (told,) = write_testset(writer, documents(TEXTS).head(1), 1, lambda text: text[:35]).documents
    assert writer.asked[0].text == "The bell of Tarn Beck rang at noon."
    assert (told["shown"], told["characters"]) == (35, len(TEXTS["a"]))


def test_they_are_listed_after_the_corpus_s_own_which_get_their_references() -> None:
    made = write_testset(Planned(numbered), documents(TEXTS).head(2), 1, whole)
    given = references(TESTSET_DOCUMENTS.frame(made.documents), TESTSET_QUESTIONS.frame(made.questions))
    none = pl.DataFrame(
        schema=dict.fromkeys(("question", "task_id", "persona_id"), pl.String) | {"position": pl.Int64}
    )
    rows = all_questions([("Of a 0.0?", "file", None), *given], none, none, none.drop("task_id"))
    assert [(one["question"], one["origin"], one["reference"]) for one in rows] == [
        ("Of a 0.0?", "file", "It is 0."),
        ("Of b 0.0?", "testset", "It is 0."),
    ]
