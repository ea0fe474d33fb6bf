"""Conversations and structured texts as plain text: lines of speech, and the words of parts."""

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    SourceFile,
    UnreadableError,
    clean,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.data.stored_dates import moment_of

#: Fields of a message that say who speaks, what, and when; the first there holds.
_SPEAKER = (
    "role", "author", "sender", "sender_name", "from", "user", "speaker", "creator", "username", "name",
    "actor",
)  # fmt: skip
_NAMES = (
    "role", "nickname", "displayName", "display_name", "real_name", "global_name", "name", "username",
    "user",
)  # fmt: skip
_SAID = ("content", "text", "value", "body", "message", "utterance", "parts")
_WHEN = (
    "timestamp", "timestamp_ms", "create_time", "created_at", "createdAt", "createdDateTime",
    "created_date", "date", "datetime", "sent_at", "ts", "time",
)  # fmt: skip
_ATTACHED = ("attachments", "files", "photo", "photos", "file", "sticker", "videos", "audio_files", "embeds")
_CALLS = ("tool_calls", "function_call")
#: Who speaks in conversations with models.
_ROLES = {
    **dict.fromkeys(("user", "human", "prompter"), "User"),
    **dict.fromkeys(("assistant", "gpt", "bot", "model", "chatgpt", "ai", "claude"), "Assistant"),
    **dict.fromkeys(("system", "developer"), "System"),
}
#: Who speaks there is no person, and parts of that kind are not said to anybody.
_NO_SPEECH = re.compile(r"tool|function|observation|ipython|thought|thinking|reasoning", re.IGNORECASE)
#: Fields of a text that is kept as a structure which hold words, and which tell of form and place.
_WORDS = (
    "text", "plain_text", "content", "value", "insert", "body", "parts", "children", "blocks",
    "paragraphs", "ops", "elements", "spans", "items", "rich_text", "title", "caption",
)  # fmt: skip
_FORM = frozenset({
    "type", "kind", "id", "key", "_key", "_type", "object", "content_type", "language", "version",
    "style", "styles", "attrs", "attributes", "annotations", "marks", "markDefs", "format", "mode",
    "direction", "indent", "level", "depth", "listItem", "index", "href", "url", "detail", "bold",
    "italic", "underline", "code", "inlineStyleRanges", "entityRanges", "entityMap", "block_id", "time",
    "start_timestamp", "stop_timestamp", "flags", "cache_control", "citations",
})  # fmt: skip
#: How the count of what stands under a key that is not known begins.
VALUES_OF = "values of"
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """What one speaker says at once; ``when`` without a time zone, None where that is not told."""

    speaker: str
    text: str
    when: datetime.datetime | None = None


def speech_lines(messages: Iterable[SpokenMessage], *, times: bool = False) -> str:
    """Return a paragraph for each message, ``Speaker: words``, and the date before the first of each day.

    >>> speech_lines([SpokenMessage("Ada Fell", "Is it open?"), SpokenMessage("Tom", "Yes.")])
    'Ada Fell: Is it open?\\n\\nTom: Yes.'
    """
    parts, day = [], None
    for message in messages:
        if message.when and message.when.date() != day:
            day = message.when.date()
            parts.append(day.isoformat())
        speaker = " ".join(message.speaker.replace(":", " ").split())[:_LONGEST_NAME]
        at = f" ({message.when:%H:%M})" if times and message.when else ""
        parts.append(f"{speaker}{at}: {message.text}" if speaker else message.text)
    return "\n\n".join(parts)


def by_day(messages: Iterable[SpokenMessage], title: str | None, source: SourceFile) -> list[FileRecord]:
    """Return a document for each day of a chat, in the order of the days.

    Args:
        messages: in the order in which they are to be read; those without a time are of the day before them.
        title: of the chat; the day is added.
        source: the file.

    Raises:
        UnreadableError: more days than documents may be.
    """
    day, days = None, defaultdict[datetime.date | None, list[SpokenMessage]](list)
    for message in messages:
        day = message.when.date() if message.when else day
        days[day].append(message)
    if len(days) > source.limits.max_documents:
        raise UnreadableError(source.limits.over_limit_reason("max_documents", "days of a chat"))
    ordered = sorted(days.items(), key=lambda one: one[0] or datetime.date.min)
    return [
        FileRecord(
            clean(speech_lines(said, times=True)),
            title=", ".join(filter(None, (title, day.isoformat() if day else None))) or None,
            date=day.isoformat() if day else None,
            metadata={
                "speakers": sorted({message.speaker for message in said} - {""}),
                "messages": len(said),
            },
            row=row,
        )
        for row, (day, said) in enumerate(ordered)
    ]


def messages_in(value: object, left: Counter[str]) -> list[SpokenMessage] | None:
    """Return what is said in a list of messages of any known form, or None where it is no such list.

    ``left`` counts what has no words.
    """
    if not isinstance(value, list) or not value or not all(map(is_message, value)):
        return None
    return [message for item in value if (message := message_of(item, left))]


def is_message(item: object) -> bool:
    """Return whether an object of a list is one of a conversation: it says who speaks, and what."""
    if not isinstance(item, Mapping):
        return False
    return any(key in item for key in _SPEAKER) and any(key in item for key in (*_SAID, *_CALLS, *_ATTACHED))


def is_of_model(item: Mapping[str, object]) -> bool:
    """Return whether who speaks is a model, or whoever talks to one, and has no name."""
    speaker = _speaker_of(item)
    return speaker.casefold() in _ROLES or bool(_NO_SPEECH.match(speaker))


def message_of(item: Mapping[str, object], left: Counter[str]) -> SpokenMessage | None:
    """Return what an object of a conversation says, or None where that is no words."""
    speaker = _speaker_of(item)
    if _NO_SPEECH.match(speaker):
        left["messages of tools"] += 1
        return None
    for what, keys in (("tool calls", _CALLS), ("attachments", _ATTACHED)):
        for value in filter(None, map(item.get, keys)):
            left[what] += len(value) if isinstance(value, list) else 1
    texts = (message_text(item[key], left).strip() for key in _SAID if key in item)
    said = next(filter(None, texts), "")
    if not said:
        left["messages without words"] += 1
        return None
    return SpokenMessage(_ROLES.get(speaker.casefold(), speaker), said, time_of(item))


def time_of(item: Mapping[str, object]) -> datetime.datetime | None:
    """Return when an object of a conversation was said, without a time zone, or None."""
    return next(filter(None, (moment_of(item[key]) for key in _WHEN if key in item)), None)


def _speaker_of(item: Mapping[str, object]) -> str:
    """The name or role of who speaks, as it is written."""
    return next((name for key in _SPEAKER if (name := _name(item.get(key)))), "")


def _name(value: object, depth: int = 0) -> str:
    if isinstance(value, str):
        return one_line(value) or ""
    if isinstance(value, Mapping) and depth < 3:
        return next((name for key in _NAMES if (name := _name(value.get(key), depth + 1))), "")
    return ""


def message_text(value: object, left: Counter[str]) -> str:
    """Return the words of a text that is kept as a structure: parts of content, or rich text.

    ``left`` counts what has no words, and what stands in fields that are not known.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        words = [message_text(item, left) for item in value]
        # Pieces of a line beside parts that are marked.
        inline = any(isinstance(item, str) for item in value) and any(
            isinstance(one, Mapping) for one in value
        )
        return "".join(words) if inline else "\n".join(filter(str.strip, words))
    if not isinstance(value, Mapping):
        return ""
    kind = str(value.get("type") or value.get("content_type") or "")
    if kind and (_NO_SPEECH.search(kind) or not any(key in value for key in _WORDS)):
        left[f"parts of type {kind[:_LONGEST_NAME]!r}"] += 1
        return ""
    for key in sorted(value.keys() - _FORM - {*_WORDS}, key=str):
        if value[key] not in (None, "", [], {}):
            left[f"{VALUES_OF} {str(key)[:_LONGEST_NAME]!r}"] += 1
    # What stands there in two forms is read once.
    held = dict.fromkeys(_nested_text(value[key], left) for key in _WORDS if key in value)
    return "\n".join(filter(None, held))


def _nested_text(value: object, left: Counter[str]) -> str:
    """The words of a field; pieces that hold words themselves are pieces of one line."""
    if isinstance(value, list) and all(map(_is_piece, value)):
        return "".join(message_text(item, left) for item in value)
    return message_text(value, left)


def _is_piece(item: object) -> bool:
    holds_words = isinstance(item, Mapping) and any(isinstance(item.get(key), str) for key in _WORDS)
    return isinstance(item, str) or holds_words
