"""Conversations and structured texts as plain text: lines of speech, and the words of parts."""

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    SourceFile,
    UnreadableError,
    clean,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.data.stored_dates import moment_of

#: Keys under which an object of a conversation says who speaks, what, and when; the first there holds.
_SPEAKER = (
    "role",
    "author",
    "sender",
    "sender_name",
    "from",
    "user",
    "speaker",
    "creator",
    "username",
    "name",
    "actor",
)
_NAMES = (
    "role",
    "nickname",
    "displayName",
    "display_name",
    "real_name",
    "global_name",
    "name",
    "username",
    "user",
    "application",
)
_SAID = ("content", "text", "value", "body", "message", "utterance", "parts")
_WHEN = (
    *(
        "timestamp",
        "timestamp_ms",
        "create_time",
        "created_at",
        "createdAt",
        "createdDateTime",
        "created_date",
    ),
    *("date", "datetime", "sent_at", "originalarrivaltime", "ts", "time"),
)
_ATTACHED = (
    "attachments",
    "files",
    "photo",
    "photos",
    "file",
    "sticker",
    "stickers",
    "videos",
    "audio_files",
    "gifs",
    "attached_files",
)
_CALLS = ("tool_calls", "function_call")
#: Who speaks in conversations with models.
_ROLES = {
    **dict.fromkeys(("user", "human", "prompter"), "User"),
    **dict.fromkeys(
        ("assistant", "gpt", "bot", "model", "chatgpt", "ai", "chatbot", "claude", "bing", "bard"),
        "Assistant",
    ),
    **dict.fromkeys(("system", "developer"), "System"),
}
_TOOLS = frozenset(
    {
        "tool",
        "function",
        "observation",
        "function_call",
        "tool_call",
        "function_response",
        "tool_response",
        "ipython",
    }
)
#: Part of the name of a kind of content → what is said to be left out.
_NO_WORDS = (
    *((name, "tool results") for name in ("tool_result", "tool_output", "call_output", "function_response")),
    *((name, "tool calls") for name in ("tool", "function")),
    *((name, "thoughts") for name in ("thinking", "thought", "reasoning")),
)
_MEDIA = (
    ("image", "images"),
    ("audio", "recordings"),
    ("video", "videos"),
    ("file", "files"),
    ("document", "files"),
)
_WORDS = ("text", "plain_text", "content", "value", "insert", "body", "markdown")
_INSIDE = (
    "parts",
    "children",
    "blocks",
    "paragraphs",
    "ops",
    "elements",
    "spans",
    "items",
    "rich_text",
    "title",
    "caption",
)
#: Keys that tell of form and place, not content.
_FORM = frozenset(
    {
        *("type", "kind", "id", "key", "_key", "_type", "object", "content_type", "language", "version"),
        *("style", "styles", "attrs", "attributes", "annotations", "marks", "markDefs", "format", "mode"),
        *("direction", "indent", "level", "depth", "listItem", "index", "href", "url", "detail", "data"),
        *(
            "bold",
            "italic",
            "underline",
            "code",
            "inlineStyleRanges",
            "entityRanges",
            "entityMap",
            "block_id",
        ),
        *("time", "start_timestamp", "stop_timestamp", "flags", "cache_control", "citations"),
    }
)
#: How the count of what stands under a key that is not known begins.
VALUES_OF = "values of"
#: The noun of many of something, without the s by which it differs from that of one.
_ONE = re.compile(r"^((?:[\w-]+ ){0,2}?[\w-]+?)s(?=\Z| (?:of|that|and|beyond|without|\()|,)")
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """What one speaker says at once; ``when`` without a time zone, None where that is not told."""

    speaker: str
    text: str
    when: datetime.datetime | None = None


def left_out_note(left: Counter[str]) -> tuple[str, ...]:
    """Return the note of a file on what of it has no words to be read, or nothing."""
    if not left:
        return ()
    return (
        "left out: " + ", ".join(plural(count, _ONE.sub(r"\1", what), what) for what, count in left.items()),
    )


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


def by_day(
    messages: Sequence[SpokenMessage], title: str | None, source: SourceFile, first_row: int = 0
) -> list[FileRecord]:
    """Return a document for each day of a chat, in the order of the days.

    Args:
        messages: in the order in which they are to be read; those without a time are of the day before them.
        title: of the chat; the day is added.
        source: the file.
        first_row: number of the first document.

    Raises:
        UnreadableError: more days than documents may be.
    """
    day, dated = None, []
    for message in messages:
        day = message.when.date() if message.when else day
        dated.append((day, message))
    dated.sort(key=lambda one: one[0] or datetime.date.min)
    records = []
    for row, (day, of_day) in enumerate(groupby(dated, key=lambda one: one[0]), start=first_row):
        said = [message for _, message in of_day]
        date = day.isoformat() if day else None
        records.append(
            FileRecord(
                clean(speech_lines(said, times=True)),
                title=", ".join(filter(None, (title, date))) or None,
                date=date,
                metadata={
                    "speakers": sorted({message.speaker for message in said} - {""}),
                    "messages": len(said),
                },
                row=row,
            )
        )
        if len(records) > source.limits.max_documents:
            raise UnreadableError(source.limits.over_limit_reason("max_documents", "days of a chat"))
    return records


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
    speaker = speaker_of(item).casefold()
    return speaker in _ROLES or speaker in _TOOLS


def message_of(item: Mapping[str, object], left: Counter[str]) -> SpokenMessage | None:
    """Return what an object of a conversation says, or None where that is no words."""
    speaker = speaker_of(item)
    if speaker in _TOOLS:
        left["tool calls" if "call" in speaker else "tool results"] += 1
        return None
    for key in _CALLS:
        calls = item.get(key)
        if calls:
            left["tool calls"] += len(calls) if isinstance(calls, list) else 1
    for key in _ATTACHED:
        attached = item.get(key)
        if attached:
            left["attachments"] += len(attached) if isinstance(attached, list) else 1
    said = next(
        (words for key in _SAID if key in item and (words := message_text(item[key], left).strip())), ""
    )
    when = next((moment for key in _WHEN if key in item and (moment := moment_of(item[key]))), None)
    return SpokenMessage(_ROLES.get(speaker.casefold(), speaker), said, when) if said else None


def speaker_of(item: Mapping[str, object]) -> str:
    """Return the name or role of who speaks, as it is written."""
    return next((name for key in _SPEAKER if (name := _name(item.get(key)))), "")


def _name(value: object, depth: int = 0) -> str:
    if isinstance(value, str):
        return one_line(value) or ""
    if isinstance(value, Mapping) and depth < 3:
        return next((name for key in _NAMES if (name := _name(value.get(key), depth + 1))), "")
    return ""


def message_text(value: object, left: Counter[str], *, inline: bool = False) -> str:
    """Return the words of a text that is kept as a structure: parts of content, or rich text.

    ``left`` counts what is left out. ``inline``: the items of a list are pieces of one paragraph.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        inline = inline or _in_one_line(value)
        words = [message_text(item, left) for item in value]
        return "".join(words) if inline else "\n".join(filter(str.strip, words))
    if not isinstance(value, Mapping):
        return ""
    kind = str(value.get("type") or value.get("content_type") or "").casefold()
    wordless = next((what for name, what in _NO_WORDS if name in kind), None)
    if wordless:
        left[wordless] += 1
        return ""
    held = (_nested_text(value[key], left) for key in (*_WORDS, *_INSIDE) if key in value)
    # What stands there in two forms is read once.
    found = list(dict.fromkeys(words for words in held if words))
    media = (what for name, what in _MEDIA if name in kind or any(name in str(key) for key in value))
    medium = None if found else next(media, None)
    if medium:
        left[medium] += 1
        return ""
    for key in sorted(value.keys() - _FORM - {*_WORDS, *_INSIDE}, key=str):
        if value[key] not in (None, "", [], {}):
            left[f"{VALUES_OF} {str(key)[:_LONGEST_NAME]!r}"] += 1
    return "\n".join(found)


def _nested_text(value: object, left: Counter[str]) -> str:
    leaves = isinstance(value, list) and all(isinstance(item, str) or _is_leaf(item) for item in value)
    return message_text(value, left, inline=leaves)


def _is_leaf(item: object) -> bool:
    return isinstance(item, Mapping) and any(isinstance(item.get(key), str) for key in _WORDS)


def _in_one_line(items: list[object]) -> bool:
    kinds = {isinstance(item, str) for item in items}
    pieces = ("plain_text", "insert", "annotations")
    return len(kinds) > 1 or any(
        isinstance(item, Mapping) and any(key in item for key in pieces) for item in items
    )
