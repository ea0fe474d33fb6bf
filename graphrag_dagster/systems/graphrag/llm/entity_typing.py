"""Types names with a chat model, those of several text units in one call."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.reply_parsing import Incomplete, NotUsable
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, with_words
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.name_judging_ports import Typing, Untyped
from graphrag_dagster.kernel.text.prompt_templates import PromptSource, enclose

#: Most names in a call, and most characters of the texts that they stand in, unless one is longer by itself.
MOST_NAMES, MOST_CHARACTERS = 24, 8_000
#: Fewest names of a call that others follow, and after how many units from there on it ends on average.
_FEWEST, _ENDS = 12, 4
#: A batch of no more names is not asked about in two halves.
_SMALLEST = 6
_LONGEST_NAME = 200
_USUAL_NAME, _CHARACTERS_PER_TOKEN = 20, 4
#: A record with an id and a label of three words takes no more, line breaks included.
_TOKENS_PER_LABEL = 32
#: What a model says where no label fits.
_NO_LABEL = ""
_NONE_FITS = ("other", "none", "unknown", "none of them", "n/a")


class _LabelShape(Shape):
    id: int
    label: str


class TypeLabelsShape(Shape):
    """Labels of names as the endpoint is asked for them."""

    results: list[_LabelShape]


@dataclass(frozen=True, slots=True)
class _Name:
    """A name by the place of its unit among those that are asked about, and its own place in that."""

    unit: int
    place: int
    text: str
    name: str


class LlmEntityTyper(Asker):
    """Asks a model which of the labels a name has in its text.

    Args:
        max_tokens: longest reply; more where a call has so many names that the labels need it.
    """

    def __init__(
        self, model: ChatModel, prompts: PromptSource, *, labels: Sequence[str], max_tokens: int = 1000
    ) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("type_entities_system").render()
        self._user = prompts.load("type_entities_user")
        self._labels = tuple(labels)
        self._words: Mapping[str, str] = dict.fromkeys(_NONE_FITS, _NO_LABEL) | {
            label.lower(): label for label in labels
        }

    def type_entities(self, asked: Sequence[Untyped]) -> list[tuple[Typing, ...]]:
        """Return of each unit what is said of its names, many calls at a time; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        parts = list(_batches(asked))
        told = self._gather(self._type_batch, parts, "Typing entities")
        by_place = {
            (name.unit, name.place): typing
            for part, typings in zip(parts, told, strict=True)
            for name, typing in zip(part, typings, strict=True)
        }
        return [
            tuple(by_place[unit, place] for place in range(len(one.names))) for unit, one in enumerate(asked)
        ]

    def requests(self, asked: Sequence[Untyped]) -> list[ChatRequest]:
        """Return the requests about names; none is sent."""
        return [self._request(part) for part in _batches(asked)]

    def _request(self, names: Sequence[_Name]) -> ChatRequest:
        shown: list[str] = []
        for number, one in enumerate(names, start=1):
            if number == 1 or one.unit != names[number - 2].unit:
                shown.append(f"Text: {_line(one.text)}")
            shown.append(f"{number}. {_line(one.name)[:_LONGEST_NAME]}")
        user = self._user.render(
            labels=enclose("entity_types", "\n".join(self._labels)),
            names=enclose("material", "\n".join(shown)),
        )
        least = _TOKENS_PER_LABEL * len(names)
        return self._task_request("type_entities", self._system, user, TypeLabelsShape, least)

    async def _type_batch(self, names: Sequence[_Name]) -> list[Typing]:
        def read(text: str) -> tuple[dict[int, str], bool]:
            return read_labels(text, len(names), self._words)

        try:
            asked = await ask(self._model, self._request(names), read, self._retry)
        except UnusableReply as lost:
            if lost.smaller_may_help and len(names) > _SMALLEST:
                middle = len(names) // 2
                return [*await self._type_batch(names[:middle]), *await self._type_batch(names[middle:])]
            return [Typing(None, lost.reason)] * len(names)
        said = asked.value
        return [
            Typing(said[number] or None, repaired=asked.repaired)
            if number in said
            else Typing(None, asked.lacking or "")
            for number in range(1, len(names) + 1)
        ]


def read_labels(text: str, count: int, words: Mapping[str, str]) -> tuple[dict[int, str], bool]:
    """Return the labels of names 1…count in a reply by their numbers, and whether its JSON was repaired.

    A label that is none of those that may be chosen is blank.

    Args:
        text: the reply.
        count: how many names were asked about.
        words: what may be said, in lower case, with the label that it means.

    Raises:
        Incomplete: not every name has one label.
        NotUsable: none has, or there is one of what was not asked, so that no number can be trusted.
    """
    given, repaired = with_words(text, count, words)
    said: dict[int, set[str]] = {}
    for number, label, _ in given:
        if not 1 <= number <= count:
            raise NotUsable(f'a label has no "id" from 1 to {count}')
        said.setdefault(number, set()).add(label or _NO_LABEL)
    found = {number: labels.pop() for number, labels in said.items() if len(labels) == 1}
    if not found:
        raise NotUsable('it does not give any name exactly one "label"')
    if missing := [str(one) for one in range(1, count + 1) if one not in found]:
        raise Incomplete(
            f'it does not give exactly one "label" for number {", ".join(missing[:10])} of {count}', found
        )
    return found, repaired


def names_per_call() -> int:
    """Return about how many tokens of texts and names a call has at most, unless one text has more."""
    return (MOST_CHARACTERS + MOST_NAMES * _USUAL_NAME) // _CHARACTERS_PER_TOKEN


def _batches(asked: Sequence[Untyped]) -> Iterator[list[_Name]]:
    """Yield the names that are asked about in one call.

    Where a batch ends is decided by a hash of the unit that it ends with: one unit more or less changes its
    own batch and perhaps the next, so that nearly all replies are found again.
    """
    batch: list[_Name] = []
    characters = 0
    for unit, one in enumerate(asked):
        text = one.unit.text
        for start in range(0, len(one.names), MOST_NAMES):
            part = one.names[start : start + MOST_NAMES]
            more = [_Name(unit, start + place, text, name) for place, name in enumerate(part)]
            if batch and (len(batch) + len(more) > MOST_NAMES or characters + len(text) > MOST_CHARACTERS):
                yield batch
                batch, characters = [], 0
            batch, characters = batch + more, characters + len(text)
        ends = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % _ENDS == 0
        if ends and len(batch) >= _FEWEST:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _line(text: str) -> str:
    return " ".join(text.split())
