"""Chats as JSON: those of Slack and ChatGPT, and lists of objects that say who speaks, what, and when."""

import datetime
import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile, note_of_counts, one_line
from graphrag_dagster.kernel.documents.readers.conversations import (
    by_day,
    is_message,
    is_of_model,
    message_of,
    message_text,
    time_of,
)
from graphrag_dagster.kernel.documents.text_decoding import Decoded

#: Where the messages of a chat stand.
_MESSAGES = ("messages", "chat_messages", "value")
_SLACK_LINK = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_USER_ID = re.compile(r"[UWB][A-Z0-9]{1,20}\Z")
_NAMES = ("real_name", "display_name", "name")


def read_export(content: object, decoded: Decoded, source: SourceFile) -> Reading | None:
    """Read a chat, a document for each of its days; None for other JSON.

    ``content`` is the file's JSON. Messages without words and attachments are counted in a note.
    """
    if users := _user_names(content):
        told = f"the names of {len(users):,} users, which the messages beside it are read with"
        return Reading((), decoded.encoding, (*decoded.notes, told), names=users)
    found = _chat(content, source)
    if found is None:
        return None
    title, items = found
    left: Counter[str] = Counter()
    names = {**source.names, **_names_in(items)}
    said = [
        message
        for item in items
        if (message := message_of(_from_slack(item, names) if _is_slack(item) else item, left))
    ]
    said.sort(key=lambda message: message.when or datetime.datetime.min)
    notes = (*decoded.notes, *note_of_counts("left out", left))
    return Reading(tuple(by_day(said, title, source)), decoded.encoding, notes)


def _chat(content: object, source: SourceFile) -> tuple[str | None, list[Mapping[str, object]]] | None:
    """Title and messages of a chat; None where the file is none."""
    if isinstance(content, list) and content:
        if all(map(_is_slack, content)):
            return PurePosixPath(source.path).parent.name or None, content
        return (None, content) if all(map(_has_role, content)) else None
    if not isinstance(content, Mapping):
        return None
    items = next((content[key] for key in _MESSAGES if _are_of_people(content.get(key))), None)
    if not isinstance(items, list):
        return None
    channel = content.get("channel")
    named = channel if isinstance(channel, Mapping) else content
    titles = (named[key] for key in ("title", "name", "topic") if isinstance(named.get(key), str))
    return one_line(next(titles, None)), items


def _are_of_people(items: object) -> bool:
    """Whether messages are of a chat that has days: not one with a model, which is a document of its own."""
    if not isinstance(items, list) or not items or not all(isinstance(item, Mapping) for item in items):
        return False
    timed = [item for item in items if time_of(item)]
    return len(timed) * 2 >= len(items) and any(map(is_message, timed)) and not all(map(is_of_model, items))


def _has_role(item: object) -> bool:
    return is_message(item) and isinstance(item, Mapping) and isinstance(item.get("role"), str)


def _is_slack(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "message" and "ts" in item


def _names_in(items: Sequence[Mapping[str, object]]) -> dict[str, str]:
    profiles = ((str(item.get("user")), item.get("user_profile")) for item in items)
    return {
        user: name
        for user, profile in profiles
        if isinstance(profile, Mapping) and (name := _name_in(profile))
    }


def _name_in(profile: Mapping[str, object]) -> str | None:
    return next((str(profile[key]) for key in _NAMES if profile.get(key)), None)


def _from_slack(item: Mapping[str, object], names: Mapping[str, str]) -> Mapping[str, object]:
    """A message of Slack under usual names of fields, with the names of people in place of their ids."""
    user = str(item.get("user") or item.get("bot_id") or "")
    texts = [message_text(item.get("text") or item.get("blocks"), Counter())]
    attached = item.get("attachments")
    for one in attached if isinstance(attached, list) else ():
        if isinstance(one, Mapping):
            texts += [str(one[key]) for key in ("pretext", "title", "text") if one.get(key)]
    return {
        "speaker": names.get(user) or item.get("username") or user or "Unknown",
        "text": _slack_text("\n".join(filter(str.strip, texts)), names),
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


def _user_names(content: object) -> dict[str, str]:
    """Id → name of the users of an export, from its ``users.json``; empty for another file."""
    if not isinstance(content, list) or not all(map(_is_user, content)):
        return {}
    named = ((user["id"], _name_in(user["profile"]) or _name_in(user)) for user in content)
    return {str(user): name for user, name in named if name}


def _is_user(item: object) -> bool:
    return (
        isinstance(item, Mapping)
        and isinstance(item.get("profile"), Mapping)
        and bool(_USER_ID.match(str(item.get("id"))))
    )


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
    path: list[object] = []
    # A damaged tree may lead in a circle.
    seen: set[object] = set()
    while isinstance(place, str) and place in nodes and place not in seen:
        seen.add(place)
        path.append(nodes[place].get("message"))
        place = nodes[place].get("parent")
    others = (node.get("message") for name, node in nodes.items() if name not in seen)
    if other := sum(map(_is_visible, others)):
        left["messages of other branches"] += other
    kept = {key: value for key, value in row.items() if key not in ("mapping", "current_node")}
    return kept | {"messages": [message for message in reversed(path) if _is_visible(message)]}


def _is_visible(message: object) -> bool:
    if not isinstance(message, Mapping):
        return False
    told = message.get("metadata")
    return not (isinstance(told, Mapping) and told.get("is_visually_hidden_from_conversation"))
