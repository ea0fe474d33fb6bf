"""Exports of chats as JSON: ChatGPT, Claude, Slack, Discord, Telegram, Teams, and others of their shapes."""

import datetime
import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from graphrag_dagster.kernel.documents.file_records import FileRecord, Reading, SourceFile, one_line
from graphrag_dagster.kernel.documents.readers.conversations import (
    SpokenMessage,
    by_day,
    is_message,
    is_of_model,
    left_out_note,
    message_of,
    message_text,
    speaker_of,
)
from graphrag_dagster.kernel.documents.readers.data.stored_dates import moment_of
from graphrag_dagster.kernel.documents.text_decoding import Decoded

#: Where the messages of one chat stand.
_MESSAGES = ("messages", "MessageList", "value", "chat_messages")
_SLACK_LINK = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
#: Kinds of messages that nobody writes.
_JOINED = re.compile(
    r"(?:channel|group)_(?:join|leave|topic|purpose|name|archive|unarchive|convert_to_private)|pinned_item|bot_add|bot_remove"
    r"|reminder_add|tombstone|huddle_thread|service|.*(?:Member|Recipient|Call|Pin|Boost|Thread(?:Created|Activity)).*"
    r"|unknownFutureValue|systemEventMessage|ThreadActivity/.*|Event/.*",
    re.IGNORECASE,
)
_USER_ID = re.compile(r"[UWB][A-Z0-9]{1,20}\Z")
_LONGEST_EMBED = 20_000


def read_export(content: object, decoded: Decoded, source: SourceFile) -> Reading | None:
    """Read what a program exported of chats, a document for each day of a chat; None for other JSON.

    ``content`` is the file's JSON. Messages of programs such as "… joined", pictures and attachments are
    counted in a note.
    """
    left: Counter[str] = Counter()
    chats = list(_chats(content, source))
    records: list[FileRecord] = []
    for title, items in chats:
        records += by_day(
            _order_by_thread(_messages_with_text(items, source, left)), title, source, len(records)
        )
    if chats:
        return Reading(tuple(records), decoded.encoding, (*decoded.notes, *left_out_note(left)))
    if told := _slack_sidecar_kind(content):
        return Reading((), decoded.encoding, (*decoded.notes, told))
    return None


def in_current_branch(row: Mapping[str, object], left: Counter[str]) -> Mapping[str, object]:
    """Return an object with the messages of ChatGPT's tree in their order; unchanged where it has no tree.

    What was written again or asked otherwise stands in other branches and is counted.
    """
    nodes = row.get("mapping")
    if not isinstance(nodes, Mapping) or not all(
        isinstance(node, Mapping) and "parent" in node for node in nodes.values()
    ):
        return row
    place = row.get("current_node")
    if place not in nodes:
        leaves = [name for name, node in nodes.items() if not node.get("children")]
        place = leaves[-1] if leaves else None
    path: list[object] = []
    # A damaged tree may lead in a circle.
    seen: set[object] = set()
    while isinstance(place, str) and place in nodes and place not in seen:
        seen.add(place)
        path.append(nodes[place].get("message"))
        place = nodes[place].get("parent")
    spoken = [message for message in reversed(path) if isinstance(message, Mapping) and _is_visible(message)]
    others = [
        node["message"]
        for name, node in nodes.items()
        if name not in seen and isinstance(node.get("message"), Mapping)
    ]
    other = sum(1 for message in others if _is_visible(message))
    if other:
        left["messages of other branches"] += other
    return {
        **{key: value for key, value in row.items() if key not in ("mapping", "current_node")},
        "messages": spoken,
    }


def _is_visible(message: Mapping[str, object]) -> bool:
    told = message.get("metadata")
    hidden = isinstance(told, Mapping) and told.get("is_visually_hidden_from_conversation")
    content = message.get("content")
    return not hidden and not (
        isinstance(content, Mapping)
        and content.get("content_type") in ("user_editable_context", "model_editable_context")
    )


def _chats(
    content: object, source: SourceFile
) -> Iterator[tuple[str | None, Sequence[Mapping[str, object]]]]:
    """Title and messages of each chat that people wrote; none where the file is no export of one."""
    if isinstance(content, list):
        if content and all(map(_is_slack, content)):
            yield PurePosixPath(source.path).parent.name or None, content
        elif content and all(_has_role(item) for item in content):
            yield None, content
        return
    if not isinstance(content, Mapping):
        return
    for key in _MESSAGES:
        items = content.get(key)
        if isinstance(items, list) and items and _are_of_people(items):
            yield _title_of(content), [item for item in items if isinstance(item, Mapping)]
            return
    inner = content.get("chats", content.get("conversations"))
    inner = inner.get("list") if isinstance(inner, Mapping) else inner
    if isinstance(inner, list):
        for chat in inner:
            if isinstance(chat, Mapping):
                yield from _chats(chat, source)


def _are_of_people(items: list[object]) -> bool:
    """Whether messages are of a chat that has days: not one with a model, which is a document of its own."""
    known = [item for item in items if isinstance(item, Mapping)]
    timed = [item for item in known if _message_time(item)]
    return len(timed) * 2 >= len(items) and any(map(_is_of_chat, timed)) and not all(map(is_of_model, known))


def _is_of_chat(item: Mapping[str, object]) -> bool:
    return is_message(item) or item.get("type") == "message"


def _has_role(item: object) -> bool:
    return (
        isinstance(item, Mapping)
        and isinstance(item.get("role"), str)
        and ("content" in item or "tool_calls" in item)
    )


def _is_slack(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "message" and "ts" in item


def _title_of(chat: Mapping[str, object]) -> str | None:
    guild, channel = chat.get("guild"), chat.get("channel")
    if isinstance(channel, Mapping):
        names = [guild.get("name") if isinstance(guild, Mapping) else None, channel.get("name")]
        return ", ".join(str(name) for name in names if name) or None
    found = next(
        (chat[key] for key in ("title", "name", "displayName", "topic") if isinstance(chat.get(key), str)),
        None,
    )
    return one_line(_fix_mojibake(str(found))) if found else None


def _message_time(item: Mapping[str, object]) -> datetime.datetime | None:
    keys = (
        "ts",
        "timestamp",
        "timestamp_ms",
        "date",
        "createdDateTime",
        "created_date",
        "originalarrivaltime",
        "created_at",
    )
    return next((moment for key in keys if key in item and (moment := moment_of(item[key]))), None)


def _messages_with_text(
    items: Sequence[Mapping[str, object]], source: SourceFile, left: Counter[str]
) -> list[tuple[Mapping[str, object], SpokenMessage]]:
    names = {**source.names, **_names_in(items)}
    found = []
    for item in items:
        kind = str(
            item.get("subtype")
            or item.get("messageType")
            or item.get("messagetype")
            or item.get("type")
            or ""
        )
        if _JOINED.fullmatch(kind):
            left["messages of the program, such as who joined"] += 1
            continue
        message = message_of(_slack_properties(item, names) if _is_slack(item) else _with_embeds(item), left)
        if message:
            found.append((item, message))
    return found


def _order_by_thread(said: Sequence[tuple[Mapping[str, object], SpokenMessage]]) -> list[SpokenMessage]:
    """In the order of time, replies of a thread after what they reply to where that is of the same day."""
    ordered = sorted(said, key=lambda one: one[1].when or datetime.datetime.min)
    roots = {
        str(item["ts"]): message.when
        for item, message in ordered
        if item.get("thread_ts") == item.get("ts") and "ts" in item
    }

    def place(one: tuple[Mapping[str, object], SpokenMessage]) -> tuple[datetime.datetime, datetime.datetime]:
        when = one[1].when or datetime.datetime.min
        root = roots.get(str(one[0].get("thread_ts")))
        return (root if root and root.date() == when.date() else when), when

    return [message for _, message in sorted(ordered, key=place)]


def _names_in(items: Sequence[Mapping[str, object]]) -> dict[str, str]:
    found = {}
    for item in items:
        profile, user = item.get("user_profile"), item.get("user")
        if isinstance(profile, Mapping) and isinstance(user, str):
            name = next(
                (profile[key] for key in ("real_name", "display_name", "name") if profile.get(key)), user
            )
            found[user] = str(name)
    return found


def _slack_properties(item: Mapping[str, object], names: Mapping[str, str]) -> Mapping[str, object]:
    user = str(item.get("user") or item.get("bot_id") or "")
    bot = item.get("bot_profile")
    named = item.get("username") or (bot.get("name") if isinstance(bot, Mapping) else None)
    kept: Counter[str] = Counter()
    texts = [str(item.get("text") or "")]
    if not texts[0] and isinstance(item.get("blocks"), list):
        texts = [message_text(item["blocks"], kept)]
    attached = item.get("attachments")
    for one in attached if isinstance(attached, list) else ():
        if isinstance(one, Mapping):
            words = [str(one[key]) for key in ("pretext", "title", "text") if one.get(key)] or [
                str(one.get("fallback") or "")
            ]
            texts.append("\n".join(words)[:_LONGEST_EMBED])
    said = "\n".join(filter(str.strip, texts))
    return {
        "speaker": names.get(user) or named or user or "Unknown",
        "text": _slack_text(said, names),
        "ts": item["ts"],
        "files": item.get("files"),
    }


def _slack_text(text: str, names: Mapping[str, str]) -> str:
    def shown(found: re.Match[str]) -> str:
        mark, target, label = found.groups()
        if mark in ("@", "#"):
            return mark + (label or names.get(target) or target).lstrip(mark)
        if mark == "!":
            return label or f"@{target.split('^')[0]}"
        address = target.removeprefix("mailto:")
        return f"{label} ({address})" if label and label not in (target, address) else address

    return html.unescape(_SLACK_LINK.sub(shown, text))


def _with_embeds(item: Mapping[str, object]) -> Mapping[str, object]:
    """An object of a chat with the words of its embeds and its page as text, and who wrote it."""
    changed = dict(item)
    body = item.get("body")
    if isinstance(body, Mapping) and isinstance(body.get("content"), str):
        marked = str(body.get("contentType")).casefold() == "html"
        changed["body"] = _page_text(str(body["content"])) if marked else body["content"]
    elif item.get("messagetype") and isinstance(item.get("content"), str):
        changed["content"] = _page_text(str(item["content"]))
        changed["author"] = item.get("displayName") or item.get("from")
    embeds = item.get("embeds")
    for one in embeds if isinstance(embeds, list) else ():
        if isinstance(one, Mapping):
            words = "\n".join(str(one[key]) for key in ("title", "description") if one.get(key))[
                :_LONGEST_EMBED
            ]
            if words:
                changed["content"] = "\n".join(filter(None, (str(changed.get("content") or ""), words)))
    if "sender_name" in item and "timestamp_ms" in item:
        changed["sender_name"] = _fix_mojibake(str(item["sender_name"]))
        changed["content"] = _fix_mojibake(str(item.get("content") or ""))
    if item.get("media_type") or item.get("sticker_emoji"):
        changed["attachments"] = [*_as_list(item.get("attachments")), item.get("media_type")]
        changed.pop("file", None)
    poll = item.get("poll")
    if isinstance(poll, Mapping) and not message_text(item.get("text"), Counter()):
        answers = [str(one.get("text")) for one in _as_list(poll.get("answers")) if isinstance(one, Mapping)]
        changed["text"] = "\n".join([str(poll.get("question") or ""), *(f"- {answer}" for answer in answers)])
    if not speaker_of(changed):
        changed["speaker"] = "Unknown"
    return changed


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _page_text(markup: str) -> str:
    if "<" not in markup and "&" not in markup:
        return markup
    from graphrag_dagster.kernel.documents.readers.html import parse, to_text

    return to_text(parse(markup))[0]


def _fix_mojibake(text: str) -> str:
    """Facebook writes the bytes of UTF-8 as if each were a character."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _slack_sidecar_kind(content: object) -> str | None:
    """Kind of a file that comes with the chats of an export, or None."""
    if (
        not isinstance(content, list)
        or not content
        or not all(isinstance(item, Mapping) and "id" in item for item in content)
    ):
        return None
    if all("profile" in item and _USER_ID.match(str(item["id"])) for item in content):
        return f"the names of {len(content):,} users, which the messages of the export are read with"
    if all("members" in item and ("created" in item or "name" in item) for item in content):
        return f"a list of {len(content):,} channels without messages"
    return None


def slack_names(content: object) -> dict[str, str]:
    """Return id → name of the users of an export, from its ``users.json``; empty for another file."""
    if _slack_sidecar_kind(content) is None or not isinstance(content, list):
        return {}
    found = {}
    for user in content:
        profile = user.get("profile")
        sources = [user, profile if isinstance(profile, Mapping) else {}]
        name = next(
            (one[key] for key in ("real_name", "display_name", "name") for one in sources if one.get(key)),
            None,
        )
        if isinstance(name, str):
            found[str(user["id"])] = name
    return found
