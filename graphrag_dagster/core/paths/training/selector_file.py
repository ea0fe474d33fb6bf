"""The training file of a selector: chats as it is asked, with the replies that it should have given."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_dagster.core.language.llm.paths.asking import SelectionPrompts, numbered, shown_lines
from graphrag_dagster.core.language.path_selection import Level
from graphrag_dagster.core.paths.training.pairs import leads_to
from graphrag_dagster.core.text.verbalised import Verbalised


@dataclass(frozen=True, slots=True)
class Example:
    """Candidates of a question, as the selector is shown them.

    Attributes:
        level: what they are.
        question: the question.
        candidates: best first, those that are shown.
        gold: places of those that it should name, best first.
    """

    level: Level
    question: str
    candidates: Verbalised
    gold: Sequence[int]

    @classmethod
    def of_paths(cls, question: str, candidates: Verbalised, answers: Collection[str]) -> "Example":
        """Return the example of whole paths, of which those that end at a gold answer should be named."""
        gold = np.flatnonzero(leads_to(candidates, answers)).tolist()
        return cls("path", question, candidates, gold)


def training_lines(prompts: SelectionPrompts, examples: Iterable[Example]) -> Iterator[str]:
    """Yield a line of JSON for each example with candidates: ``messages`` with roles and contents.

    The last is the reply: the gold candidates with their numbers, ``NONE`` where there is none. Such files
    are read by what fine-tunes chat models, with LoRA or at an endpoint.
    """
    for one in examples:
        if not len(one.candidates):
            continue
        shown = shown_lines(one.candidates)
        lines = numbered(shown)
        reply = "\n".join(lines[place] for place in one.gold) or "NONE"
        asked = prompts.messages(one.level, one.question, shown)
        told = [{"role": message.role, "content": message.content} for message in asked]
        yield json.dumps({"messages": [*told, {"role": "assistant", "content": reply}]}, ensure_ascii=False)
