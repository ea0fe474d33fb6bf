"""Does an answer say what was asked? Questions about a podcast, with the sentences that answer them.

    python benchmarks/podcast.py [--half tune|report] [--home FOLDER] [--ways NAME …] [--failures N]
        [--reranker NAME]

60 episodes, each a document, are indexed without a model, and the 60 questions of ``podcast_questions.yaml``
are asked in every search method. Two shares are printed for each way and kind of question, with 95 %
bootstrap intervals over the questions: *said* of those where the first three statements of the answer cite at
least half of the characters of a gold sentence, and *shown* of those where the context holds as much, be it
as text or as a sentence that a report rests on. With --home the index is kept in the folder and used again;
--failures prints so many questions of each way that were not answered; --reranker asks with a reranker, whose
model --reranker-model names.
"""

import argparse
import tempfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import mean

from episodes import PodcastQuestion, episodes, podcast_questions
from measuring import (
    BASIC,
    Asked,
    Corpus,
    SearchMethod,
    Stretch,
    add_reranker,
    cited,
    holds_any,
    interval,
    reranking,
    table,
)

from graphrag_dagster.kernel.catalogue.registry import methods

HALVES = ("tune", "report")
KINDS = {"people": "people", "episode": "episode", "fact": "no name", "theme": "themes"}


def gold(question: PodcastQuestion) -> list[Stretch]:
    return [Stretch(one.file, one.start, one.end) for one in question.gold]


def every_way() -> list[SearchMethod]:
    """All that the catalogue declares, with the modes of basic in its place."""
    declared = [SearchMethod(name, name, {}) for name in methods()]
    return list(chain.from_iterable(BASIC if way.name == "basic" else [way] for way in declared))


def told(question: PodcastQuestion, asked: Asked) -> str:
    """What was answered in place of what, for reading."""
    texts = [" ".join(statement.text.split())[:160] for statement in asked.answer.statements[:3]]
    found = [f"{one.path}: {episodes()[one.path][one.start : one.end]}" for one in gold(question)[:2]]
    lines = [f"{question.id} {question.text}", f"  why {asked.answer.why}"]
    lines += [f"  - {text}" for text in texts or ["refused"]] + [f"  = {text}" for text in found]
    return "\n".join(lines)


@dataclass(frozen=True)
class Outcome:
    """What came of a question: whether its answer says gold, whether its context holds it."""

    question: PodcastQuestion
    said: bool
    shown: bool
    refused: bool
    seconds: float


def outcome(corpus: Corpus, question: PodcastQuestion, asked: Asked) -> Outcome:
    answer = asked.answer
    said = holds_any(gold(question), list(chain.from_iterable(cited(answer))))
    shown = holds_any(gold(question), corpus.held(asked.shown))
    return Outcome(question, said, shown, answer.refused, answer.seconds or 0.0)


def cells(outcomes: list[Outcome]) -> list[str]:
    """The row of a way in a table."""
    found = [f"{interval(said(outcomes))} / {interval(shown(outcomes))}"]
    for kind in KINDS:
        of_kind = [one for one in outcomes if one.question.kind == kind]
        found.append(" / ".join(f"{mean(hits):.2f}" for hits in (said(of_kind), shown(of_kind))))
    milliseconds = 1000 * mean(one.seconds for one in outcomes)
    return [*found, str(sum(one.refused for one in outcomes)), f"{milliseconds:.0f}"]


def said(outcomes: list[Outcome]) -> list[bool]:
    return [one.said for one in outcomes]


def shown(outcomes: list[Outcome]) -> list[bool]:
    return [one.shown for one in outcomes]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=HALVES, action="append", help="default: one after the other")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--ways", nargs="*", metavar="NAME")
    parser.add_argument("--failures", type=int, default=0)
    add_reranker(parser)
    given = parser.parse_args()
    halves = given.half or HALVES
    questions = [one for one in podcast_questions() if one.half in halves]
    with tempfile.TemporaryDirectory() as made:
        corpus = Corpus(given.home or Path(made), "podcast", episodes(), search=reranking(given))
        outcomes: dict[str, list[Outcome]] = {}
        for way in every_way():
            if given.ways and way.name not in given.ways:
                continue
            failures = [f"## {way.name}"]
            for question in questions:
                asked = corpus.ask(question.text, way)
                outcomes.setdefault(way.name, []).append(outcome(corpus, question, asked))
                if not outcomes[way.name][-1].said:
                    failures.append(told(question, asked))
            if given.failures:
                print("\n".join(failures[: given.failures + 1]), flush=True)
        for half in halves:
            chosen = {name: [o for o in of if o.question.half == half] for name, of in outcomes.items()}
            print(f"\n{half}: said / shown")
            header = ["method", "all", *KINDS.values(), "refused", "ms"]
            table(header, ([name, *cells(of)] for name, of in chosen.items()))


if __name__ == "__main__":
    main()
