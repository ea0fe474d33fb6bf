"""Chat messages as questions, answers as chat text, and the models of requests and responses."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.answer import HEADINGS, Answer, Source
from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.text.prompt_templates import Turn


class Lenient(BaseModel):
    """Accepts further fields."""

    model_config = ConfigDict(extra="allow")


class Part(Lenient):
    """A part of a message; those that are no text are refused."""

    type: str
    text: str | None = None


class ChatMessage(Lenient):
    """A turn of a conversation; only those of ``user`` and ``assistant`` are read."""

    role: str
    content: str | list[Part] | None = None


class StreamOptions(Lenient):
    """What a stream tells besides the text."""

    include_usage: bool | None = False


class ReplyMessage(BaseModel):
    """The answer, with its sources as a list below it."""

    role: Literal["assistant"] = "assistant"
    content: str


class Choice(BaseModel):
    """The one choice there is."""

    index: int = 0
    message: ReplyMessage
    finish_reason: Literal["stop", "length"] = "stop"


class ChatUsage(BaseModel):
    """Tokens of the model's calls; all zero where no model was called."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(BaseModel):
    """An answer in the shape of OpenAI's API."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: ChatUsage


#: What a model can be used for.
ModelType: TypeAlias = Literal["chat", "embedding"]


class Model(BaseModel):
    """A corpus, or a corpus asked by one method; or what embeds."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "graphrag_dagster"
    type: ModelType = "chat"


class ModelList(BaseModel):
    """What can be given as ``model``."""

    object: Literal["list"] = "list"
    data: list[Model]


_HEADING = "\n\nSources:\n\n"
_MARK_START = "[Data:"
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
        raise QuestionError("no message has the role 'user'; its content is the question")
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
        raise QuestionError(f"a message has a part of type {part.type!r}; only text is supported")
    return part.text


def without_sources(text: str) -> str:
    """Return an answer of this server without its heading and the list of its sources."""
    told = text.partition(_HEADING)[0]
    begun = (f"{one}\n\n" for one in HEADINGS)
    return told.removeprefix(next(filter(told.startswith, begun), ""))


def headed(answer: Answer) -> str:
    """Return the text of an answer, under its heading where it has one, with its marks in bold."""
    return f"{answer.heading}\n\n{answer.text_in_bold}" if answer.heading else answer.text_in_bold


def listed_sources(answer: Answer) -> str:
    """Return the sources of an answer as a list below its text, and its query; empty where it has none."""
    if not answer.sources:
        return ""
    query = f"\n\n```sql\n{answer.query.display_text}\n```" if answer.query else ""
    return _HEADING + "\n".join(_listed(source) for source in answer.sources) + query


def _listed(source: Source) -> str:
    if source.evidence is None:
        return f"- [{source.number}] {' '.join(source.title.split())}"
    told = source.evidence.told
    return f"- [{source.number}] {' '.join(told.path.split())}: {told.without_location}"


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
        return "" if held.lstrip().startswith(_MARK_START) else held
