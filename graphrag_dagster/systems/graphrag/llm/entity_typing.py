"""Types names with a chat model, those of several text units in one call."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape
from graphrag_dagster.kernel.tasks.name_judging_ports import Typing, Untyped
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.kernel.text.prompt_templates import enclose, one_line
from graphrag_dagster.systems.graphrag.llm.numbered_batches import (
    NumberedAsker,
    batches_that_fit,
    ends_batch,
)

#: Most names in a call, and most characters of the texts that they stand in, unless one is longer by itself.
MOST_NAMES, MOST_CHARACTERS = 24, 8_000
#: Fewest names of a call that others follow, and after how many units from there on it ends on average.
_FEWEST, _ENDS = 12, 4
_LONGEST_NAME = 200
_USUAL_NAME, _CHARACTERS_PER_TOKEN = 20, 4
#: What a model says where no label fits.
_NONE_FITS = ("other", "none", "unknown", "none of them", "n/a")


class _LabelShape(Shape):
    id: int
    label: str


class TypeLabelsShape(Shape):
    """Labels of names as the endpoint is asked for them."""

    results: list[_LabelShape]


class _Name(NamedTuple):
    """A name and the text unit that it stands in."""

    unit: TextUnit
    name: str


class LlmEntityTyper(NumberedAsker[_Name, str]):
    """Asks a model which of the labels a name has in its text."""

    task = "type_entities"
    shape = TypeLabelsShape
    key = "label"
    otherwise = ""
    #: A record with an id and a label of three words takes no more, line breaks included.
    tokens_each = 32

    def __init__(self, model: ChatModel, *, labels: Sequence[str], max_tokens: int = 1000) -> None:
        super().__init__(model, max_tokens=max_tokens)
        self._labels = tuple(labels)
        self.words: Mapping[str, str] = dict.fromkeys(_NONE_FITS, self.otherwise) | {
            label.lower(): label for label in labels
        }

    def type_entities(self, asked: Sequence[Untyped]) -> list[tuple[Typing, ...]]:
        """Return of each unit what is said of its names, many calls at a time; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        words, _ = self._ask_in_batches(_batches(asked), "Typing entities")
        typings = (
            Typing(None, said.reason) if said.word is None else Typing(said.word or None, None, said.repaired)
            for said in words
        )
        return [tuple(islice(typings, len(one.names))) for one in asked]

    def requests(self, asked: Sequence[Untyped]) -> list[ChatRequest]:
        """Return the requests about names; none is sent."""
        return [self.request(part) for part in _batches(asked)]

    def _shown(self, items: Sequence[_Name]) -> dict[str, str]:
        lines: list[str] = []
        for number, one in enumerate(items, start=1):
            if number == 1 or one.unit != items[number - 2].unit:
                lines.append(f"Text: {one_line(one.unit.text)}")
            lines.append(f"{number}. {one_line(one.name)[:_LONGEST_NAME]}")
        return {
            "labels": enclose("entity_types", "\n".join(self._labels)),
            "names": enclose("material", "\n".join(lines)),
        }


def names_per_call() -> int:
    """Return about how many tokens of texts and names a call has at most, unless one text has more."""
    return (MOST_CHARACTERS + MOST_NAMES * _USUAL_NAME) // _CHARACTERS_PER_TOKEN


def _batches(asked: Sequence[Untyped]) -> Iterator[list[_Name]]:
    """Yield the names that are asked about in one call."""
    # The names of a unit stay together, but for one that has more than a call may have.
    parts = (
        Untyped(one.unit, one.names[start : start + MOST_NAMES])
        for one in asked
        for start in range(0, len(one.names), MOST_NAMES)
    )
    for batch in batches_that_fit(parts, _fits, _ends):
        yield [_Name(part.unit, name) for part in batch for name in part.names]


def _fits(batch: Sequence[Untyped]) -> bool:
    characters = sum(len(part.unit.text) for part in batch)
    return sum(len(part.names) for part in batch) <= MOST_NAMES and characters <= MOST_CHARACTERS


def _ends(batch: Sequence[Untyped]) -> bool:
    enough = sum(len(part.names) for part in batch) >= _FEWEST
    return enough and ends_batch(batch[-1].unit.text, _ENDS)
