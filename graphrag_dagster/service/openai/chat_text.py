"""Conversations as questions, and answers as the text of a chat."""

import re
from collections.abc import Sequence

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.answer import HEADINGS, Answer, Source
from graphrag_dagster.kernel.questions.filters import Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.tasks.ports import Turn
from graphrag_dagster.service.openai.chat_models import ChatMessage, Part

_HEADING = "\n\nSources:\n\n"
_BEGINNING = "[Data:"
_LONGEST_MARK = 500
_MARK = re.compile(r"[ \t]*\[Data:[^\]]*\]")
_MAY_BEGIN_MARK = re.compile(r"[ \t]*(?:\[(?:D(?:a(?:t(?:a(?::[^\]]*)?)?)?)?)?)?\Z")


def question_of(messages: Sequence[ChatMessage], method: str | None, filters: Filters) -> Question:
    """Return the last message of the user as a question, and the turns before it as its history.

    Raises:
        QuestionError: there is no message of the user, or it holds anything but text.
    """
    spoken = [m for m in messages if m.role in {"user", "assistant"}]
    last = max((i for i, message in enumerate(spoken) if message.role == "user"), default=None)
    if last is None:
        raise QuestionError("there is no message with the role 'user'; its content is the question")
    history: list[Turn] = []
    for message in spoken[:last]:
        text = text_of(message)
        if message.role == "user":
            history.append(Turn(text, ""))
        elif text and history:
            before = history.pop()
            said = "\n".join(filter(None, (before.answer, without_sources(text))))
            history.append(Turn(before.question, said))
    return Question(text_of(spoken[last]), method, None, filters, tuple(history))


def text_of(message: ChatMessage) -> str:
    """Return the text of a message.

    Raises:
        QuestionError: it holds anything but text.
    """
    if isinstance(message.content, list):
        return "\n".join(_text_of_part(part) for part in message.content)
    return message.content or ""


def _text_of_part(part: Part) -> str:
    if part.text is None:
        raise QuestionError(f"a message holds a part of type {part.type!r}; only text can be read")
    return part.text


def without_sources(text: str) -> str:
    """Return an answer of this server without its heading and the list of its sources."""
    told = text.partition(_HEADING)[0]
    begun = (f"{one}\n\n" for one in HEADINGS)
    return told.removeprefix(next(filter(told.startswith, begun), ""))


def headed(answer: Answer) -> str:
    """Return the text of an answer, under its heading where it has one."""
    return f"{answer.heading}\n\n{answer.text}" if answer.heading else answer.text


def listed_sources(answer: Answer) -> str:
    """Return the sources of an answer as a list below its text, and its query; empty where it has none."""
    if not answer.sources:
        return ""
    query = f"\n\n```sql\n{answer.query.shown}\n```" if answer.query else ""
    return _HEADING + "\n".join(_listed(source) for source in answer.sources) + query


def _listed(source: Source) -> str:
    if source.evidence is None:
        return f"- [{source.number}] {' '.join(source.title.split())}"
    told = source.evidence.told
    return f"- [{source.number}] {' '.join(told.path.split())}: {told.alone}"


class MarkFilter:
    """Takes the marks ``[Data: …]`` out of a text that comes in pieces.

    A model writes them for the rows of its prompt; only the whole answer tells which sources they mean.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown of the text so far and has not been returned."""
        text = _MARK.sub("", self._held + piece)
        begun = _MAY_BEGIN_MARK.search(text)
        cut = begun.start() if begun and len(text) - begun.start() <= _LONGEST_MARK else len(text)
        self._held = text[cut:]
        return text[:cut]

    def rest(self) -> str:
        """Return what was held back, where it is no mark after all."""
        held, self._held = self._held, ""
        return "" if held.lstrip().startswith(_BEGINNING) else held
