import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer, ExtractiveReportRater
from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.context_chunks import render
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import REFUSAL
from graphrag_dagster.kernel.questions.searcher import level_read, require_method
from graphrag_dagster.kernel.settings.search_settings import SearchSettings
from graphrag_dagster.kernel.tasks.answering_ports import BatchRatings, Rating
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Engine, FinalAnswer, PartialAnswer
from graphrag_dagster.systems.graphrag.search.dynamic_search import dynamic_search
from graphrag_dagster.systems.graphrag.search.global_search import reports_of
from support.index_frames import index_of
from support.questions import asked_of
from support.report_trees import TREE, index_of_tree


def words(text: str) -> int:
    return len(text.split())


class Rater:
    """Rates by title; what has no rating comes without one."""

    engine: Engine = "llm"

    def __init__(self, scores: Mapping[str, int | None]) -> None:
        self.scores = scores
        self.batches: list[list[ContextUnit]] = []
        self.rendered: list[str] = []

    def rate(
        self, question: str, batches: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[BatchRatings]:
        self.batches += map(list, batches)
        self.rendered += rendered
        return [BatchRatings(tuple(map(self._of, batch)), Usage(1, 100, 10)) for batch in batches]

    def _of(self, unit: ContextUnit) -> Rating:
        score = self.scores.get(unit.title, 0)
        return Rating(score, "the model gave it no rating" if score is None else None)

    @property
    def rated(self) -> list[str]:
        return [unit.title for batch in self.batches for unit in batch]


class Reader:
    """Answers every chunk, and joins what it is given."""

    engine: Engine = "llm"

    def __init__(self) -> None:
        self.chunks: list[Sequence[ContextUnit]] = []

    def map(
        self, question: str, chunks: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[PartialAnswer]:
        self.chunks += chunks
        return [
            PartialAnswer(f"Part [Data: Reports ({c[0].id})].", 50, (c[0].id,), usage=Usage(1))
            for c in chunks
        ]

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        return FinalAnswer(" ".join(partial.text for partial in partials), "llm", usage=Usage(1))


def ask(
    index: IndexSnapshot, rater: object, reader: object | None = None, level: int = 3, **options: object
) -> Answer:
    """Answer; ``keep_parent`` is an argument of its own."""
    keep_parent = bool(options.pop("keep_parent", False))
    asked = asked_of(
        index,
        "What of the quay?",
        "dynamic",
        level=level,
        count=words,
        options={"context_tokens": 200, **options},
        rater=rater,
        answerer=reader or Reader(),
    )
    return dynamic_search(asked, keep_parent=keep_parent)


def read(answer: Answer) -> set[str]:
    return {use.title for use in answer.context}


def test_of_each_relevant_branch_the_deepest_relevant_report_is_read() -> None:
    rater = Rater({"harbour": 2, "quay": 5, "crane": 0, "mail": 0, "fishing": 3, "nets": 0})
    answer = ask(index_of_tree(TREE), rater)
    assert read(answer) == {"quay", "fishing"}
    assert sorted(rater.rated) == ["crane", "fishing", "harbour", "mail", "music", "nets", "quay"]
    assert {call.about: (call.score, call.used) for call in answer.steps if call.task == "rate"} == {
        "harbour": (2, False),
        "quay": (5, True),
        "crane": (0, False),
        "mail": (0, False),
        "music": (0, False),
        "fishing": (3, True),
        "nets": (0, False),
    }
    assert (answer.method, answer.level, answer.refused) == ("dynamic", 3, False)


def test_below_what_is_irrelevant_nothing_is_rated() -> None:
    rater = Rater({"music": 1, "quay": 5, "nets": 5})
    assert read(ask(index_of_tree(TREE), rater)) == {"music"}
    assert sorted(rater.rated) == ["fishing", "harbour", "music"]


def test_nothing_below_the_level_is_rated() -> None:
    rater = Rater(dict.fromkeys(TREE, 5))
    assert read(ask(index_of_tree(TREE), rater, level=1)) == {"quay", "mail", "music", "nets"}
    assert "crane" not in rater.rated
    assert read(ask(index_of_tree(TREE), Rater(dict.fromkeys(TREE, 5)), level=0)) == {
        "harbour",
        "music",
        "fishing",
    }


def test_the_threshold_decides_and_parents_may_be_kept() -> None:
    scores = {"harbour": 2, "quay": 1, "mail": 4, "music": 1}
    index = index_of_tree(TREE)
    assert read(ask(index, Rater(scores), relevant_from=2)) == {"mail"}
    assert read(ask(index, Rater(scores))) == {"quay", "mail", "music"}
    assert read(ask(index, Rater(scores), keep_parent=True)) == {"harbour", "quay", "mail", "music"}


def test_without_a_relevant_root_there_is_a_refusal_and_no_map_call() -> None:
    reader = Reader()
    answer = ask(index_of_tree(TREE), Rater({"quay": 5}), reader)
    assert (answer.refused, answer.text, answer.context, reader.chunks) == (True, REFUSAL, (), [])
    assert "no root community has to do with the question" in answer.why
    assert answer.usage == Usage(1, 100, 10)
    assert {call.task for call in answer.steps} == {"rate"}


def test_a_report_without_a_rating_counts_as_relevant_and_is_listed() -> None:
    answer = ask(index_of_tree(TREE), Rater({"harbour": None, "mail": 5}), relevant_from=4)
    assert read(answer) == {"mail"}
    assert answer.problems == ("harbour: the model gave it no rating; it counts as relevant",)
    answer = ask(index_of_tree(TREE), Rater({"music": None}), relevant_from=4)
    assert read(answer) == {"music"}


def test_below_a_community_without_a_report_its_children_are_rated() -> None:
    index = index_of_tree(TREE)
    bare = replace(index, reports=index.reports.filter(~pl.col("title").is_in(["quay", "fishing"])))
    assert read(ask(bare, Rater({"harbour": 1, "crane": 2, "nets": 3}))) == {"crane", "nets"}


def test_batches_stay_within_the_budget_and_have_ids_of_their_own() -> None:
    many = {f"root {number:02}": None for number in range(40)}
    rater = Rater({"root 07": 3, "root 31": 1})
    answer = ask(index_of_tree(many), rater, context_tokens=60)
    assert read(answer) == {"root 07", "root 31"}
    assert len(rater.batches) > 3
    for batch, rendered in zip(rater.batches, rater.rendered, strict=True):
        assert [unit.id for unit in batch] == list(range(1, len(batch) + 1))
        assert rendered == render(batch)
        assert words(rendered) <= 60
    assert sorted(rater.rated) == sorted(many)
    assert answer.usage.calls == len(rater.batches) + 2


def test_why_counts_what_rating_cost() -> None:
    index = index_of_tree(TREE)
    answer = ask(index, Rater({"music": 5}), level=2)
    read_tokens = sum(use.tokens for use in answer.context)
    rated = sum(call.tokens for call in answer.steps if call.task == "rate")
    assert read_tokens == 5
    assert rated == 15
    # crane, mail, music and nets at C2, five words each
    assert "read 1 report in place of the 4 of C2: about 5 tokens against 20, 75 % fewer" in answer.why
    assert "to choose, 3 reports with about 15 tokens were rated in 1 model call" in answer.why
    assert "which makes 20 tokens, as many" in answer.why


def test_one_rating_per_report_is_wanted() -> None:
    class Lazy(Rater):
        def rate(self, question, batches, rendered) -> list[BatchRatings]:
            return [BatchRatings(one.ratings[1:]) for one in super().rate(question, batches, rendered)]

    with pytest.raises(EngineError, match="one rating for each of 3 reports"):
        ask(index_of_tree(TREE), Lazy({}))


def test_what_cannot_be_asked_is_an_error() -> None:
    with pytest.raises(QuestionError, match="no level C9"):
        ask(index_of_tree(TREE), Rater({}), level=9)
    with pytest.raises(QuestionError, match="no community reports"):
        ask(index_of({}), Rater({}))


@st.composite
def rated_trees(draw: st.DrawFn) -> tuple[dict[str, str | None], dict[str, int | None]]:
    parents: dict[str, str | None] = {}
    for number in range(draw(st.integers(1, 14))):
        shallow = [name for name in parents if _depth(parents, name) < 3]
        parents[f"n{number}"] = draw(st.sampled_from([None, *shallow]))
    scores = draw(st.lists(st.sampled_from([None, 0, 0, 1, 5]), min_size=len(parents), max_size=len(parents)))
    return parents, dict(zip(parents, scores, strict=True))


def _depth(parents: Mapping[str, str | None], name: str) -> int:
    return 0 if parents[name] is None else 1 + _depth(parents, parents[name])


@given(tree=rated_trees())
def test_what_is_read_is_the_lower_edge_of_what_is_relevant(tree) -> None:
    parents, scores = tree
    relevant = {name for name in parents if scores[name] != 0}
    reached = {name for name in relevant if all(one in relevant for one in _above(parents, name))}
    edge = reached - {parents[name] for name in reached}
    answer = ask(index_of_tree(parents), Rater(scores))
    assert read(answer) == edge
    assert answer.refused == (not edge)


def _above(parents: Mapping[str, str | None], name: str) -> list[str]:
    parent = parents[name]
    return [parent, *_above(parents, parent)] if parent else []


def test_the_order_of_rows_changes_nothing() -> None:
    index = index_of_tree(TREE)
    made = {field.name: getattr(index, field.name) for field in fields(index)}
    frames = {name: frame.reverse() for name, frame in made.items() if isinstance(frame, pl.DataFrame)}
    scores = {"harbour": 2, "quay": 5, "mail": None, "music": 1}
    first, second = (ask(one, Rater(scores)) for one in (index, IndexSnapshot(**frames)))
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())


CONTENTS = {
    "The harbour": "The quay of the harbour was built by Orrin Vask in 1998. The mail boat lies there at night.",
    "The quay": "The quay was built by Orrin Vask in 1998. Its stones came from the old quarry.",
    "The mail": "The mail boat carries letters to the outer islands. It sails three times a week.",
    "The choir": "The choir sang psalms in the chapel every winter. Its singers came from four villages.",
}


def written(index: IndexSnapshot) -> IndexSnapshot:
    """The same reports quoting nothing, so that their own sentences count."""
    return replace(index, references=index.references.clear())


def test_the_extractive_rater_finds_the_branch_that_answers() -> None:
    embedder = StaticEmbedder()
    parents = {"The harbour": None, "The quay": "The harbour", "The mail": "The harbour", "The choir": None}
    index = written(index_of_tree(parents, CONTENTS))

    def once(question: str) -> Answer:
        engines = {"rater": ExtractiveReportRater(embedder), "answerer": ExtractiveAnswerer(embedder)}
        return dynamic_search(asked_of(index, question, "dynamic", level=1, count=words, **engines))

    answer = once("Who built the quay?")
    assert read(answer) == {"The quay"}
    assert "The quay was built by **Orrin Vask** in 1998." in answer.text_in_bold
    scores = {call.about: call.score for call in answer.steps if call.task == "rate"}
    assert scores["The choir"] == 0 < scores["The harbour"] <= 5
    assert answer.usage == Usage()
    assert "without a model" in answer.why
    assert once("Who built the quay?") == answer
    refused = once("How do I bake sourdough?")
    assert (refused.refused, read(refused)) == (True, set())


def test_extractive_ratings_do_not_depend_on_the_batches() -> None:
    rater = ExtractiveReportRater(StaticEmbedder())
    units = [
        ContextUnit(n, title, text, tuple((one + ".", None) for one in text.rstrip(".").split(". ")))
        for n, (title, text) in enumerate(CONTENTS.items(), start=1)
    ]
    [whole] = rater.rate("Who built the quay?", [units], [""])
    parts = rater.rate("Who built the quay?", [units[:1], units[1:]], ["", ""])
    assert whole.ratings == tuple(one for part in parts for one in part.ratings)
    assert rater.rate("Who built the quay?", [], []) == []


def below_top(index: IndexSnapshot, top: int) -> IndexSnapshot:
    """The index with its first level called so."""
    lower = {"level": pl.col("level") + top}
    return replace(
        index,
        communities=index.communities.with_columns(**lower),
        community_levels=index.community_levels.with_columns(**lower),
    )


def test_levels_above_c0_are_where_a_global_question_begins() -> None:
    index, options = below_top(index_of_tree(TREE), -2), SearchSettings()
    ways = {name: require_method(name) for name in ("global", "dynamic", "graph", "C0")}
    read_by = {name: level_read(way, None, options, index) for name, way in ways.items()}
    assert read_by == {"global": -2, "dynamic": 1, "graph": 1, "C0": 0}
    assert level_read(ways["global"], 0, options, index) == 0
    assert level_read(ways["global"], None, SearchSettings(level=2), index) == 2
    assert level_read(ways["global"], None, options, replace(index, restricted=True)) == 1
    assert level_read(ways["global"], None, options, index_of_tree(TREE)) == 1
    # Part of a corpus whose reports of C1 are written on demand.
    part = replace(index_of_tree(TREE), restricted=True)
    part = replace(part, reports=part.reports.filter(pl.col("title").is_in(["harbour", "music"])))
    assert {name: level_read(way, None, options, part) for name, way in ways.items()} == dict.fromkeys(
        ways, 0
    )
    part = replace(part, reports=part.reports.filter(title="harbour"))
    with pytest.raises(QuestionError, match=r"no report of C1 was .* alone; C0 has some \(--level 0\); use"):
        reports_of(part, 1)


def test_below_levels_above_c0_the_best_are_followed_within_the_bound() -> None:
    names = {"root": None} | {f"town{n}": "root" for n in range(3)}
    names |= {f"street{town}-{n}": f"town{town}" for town in range(3) for n in range(40)}
    scores = {"root": 3, "town0": 2, "town1": 5, "town2": 4, "street1-7": 5}
    index = below_top(index_of_tree(names), -1)
    rater = Rater(scores)
    # 64 roots at most: the 40 streets of the best town are rated, and 80 would be too many.
    assert read(ask(index, rater, level=1)) == {"street1-7", "town0", "town2"}
    assert len(rater.rated) == 1 + 3 + 40
    rater = Rater(scores)
    assert read(ask(index_of_tree(names), rater, level=2)) == {"street1-7", "town0", "town2"}
    assert len(rater.rated) == 1 + 3 + 120
