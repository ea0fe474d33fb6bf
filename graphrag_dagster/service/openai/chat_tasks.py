"""Tasks that chat pages set beside the questions of their users, answered from the conversation itself.

Open WebUI, LibreChat, LobeChat, NextChat and others ask the model of a conversation for its title, tags,
further questions or search queries. The documents hold nothing of that: the page gets the first words of the
question, in the form in which it reads them.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from graphrag_dagster.service.error_responses import Refusal
from graphrag_dagster.service.openai.chat_messages import ChatMessage, text_of

_FLAGS = re.IGNORECASE | re.DOTALL
#: Characters of an instruction in which its task is named; the conversation may follow.
_NAMED_WITHIN = 700
_OF_OPEN_WEBUI = re.compile(r"\s*###\s*task\s*:", _FLAGS)
#: A page asks for a title of the conversation; a person who asks about a title asks about another.
_TITLE = re.compile(
    r"\b(?:generate|provide|create|write|suggest|summari[sz]e|analy[sz]e|come up with)\b.{0,200}?"
    r"(?:\btitle\b.{0,80}\b(?:conversation|chat|dialogue)\b|\b(?:conversation|chat|dialogue)\b.{0,60}\btitle\b)"
    r"|\bgive (?:this|the) (?:conversation|chat) a (?:\w+ )?(?:name|title)\b"
    r"|\bname (?:this|the) (?:conversation|chat)\b",
    _FLAGS,
)
_TITLE_ZH = re.compile(
    r"(?:总结|概括|生成|返回)[^。\n]{0,30}(?:标题|主题)|(?:标题|主题)[^。\n]{0,20}(?:总结|概括|生成)"
)
_KINDS = {
    "title": re.compile(r"\btitle\b", _FLAGS),
    "tags": re.compile(r"\btags?\b", _FLAGS),
    "follow_ups": re.compile(r"\bfollow[- _]?ups?\b", _FLAGS),
    "queries": re.compile(r"\bsearch quer(?:y|ies)\b|\bqueries\b", _FLAGS),
    "text": re.compile(r"\bautocompletion\b", _FLAGS),
    "prompt": re.compile(r"\bimage generation\b", _FLAGS),
}
_TOOLS = re.compile(r"\s*available tools:.*\btool_calls\b", _FLAGS)
_EMOJI = re.compile(r"\byour task is to reflect the speaker's likely facial expression\b.*\bemoji\b", _FLAGS)
#: Other tasks: a page gives the conversation along, or sets the instruction below it.
_OF_CONVERSATION = re.compile(
    r"\b(?:summari[sz]\w*|compress|condense|rephrase|rewrite|translate|extract|classify|analy[sz]e)\b.{0,300}?"
    r"\b(?:conversation|chat|discussion|dialogue|messages|follow[ -]?up question)\b",
    _FLAGS,
)
_OF_RESPONSES = re.compile(r"\s*you have been provided with a set of responses from various models\b", _FLAGS)
_HISTORY = re.compile(r"<chat_history>(.*)</chat_history>", _FLAGS)
_TURN = re.compile(
    r"^[ \t>|*#]*(user|human|question|assistant|ai|response|answer|model)[ \t*]*:[ \t]*", re.I | re.MULTILINE
)
_SYSTEM = frozenset({"system", "developer"})
_USERS = frozenset({"user", "human", "question"})
_JSON_KEY = re.compile(r'\{\s*"(\w+)"\s*:')
_WORDS, _CHARACTERS, _LONGEST_QUERY = 5, 60, 300


def task_reply(messages: Sequence[ChatMessage], response_format: Any = None) -> str | None:
    """Return the reply to a task of a chat page; None where the last message is a question.

    Args:
        messages: of the request.
        response_format: as the request has it.

    Raises:
        Refusal: (400) it is a task of a page, and none that can be done here.
        QuestionError: a message holds anything but text.
    """
    spoken = [(one.role, text_of(one)) for one in messages]
    last = max((place for place, (role, _) in enumerate(spoken) if role == "user"), default=None)
    if last is None:
        return None
    told = spoken[last][1]
    role, below = spoken[-1]
    has_answer = any(role == "assistant" for role, _ in spoken)
    if has_answer and role in _SYSTEM and _OF_CONVERSATION.search(below[:_NAMED_WITHIN]):
        raise _unknown_task()
    above = [text for role, text in spoken if role in _SYSTEM]
    for instruction in (told, *above):
        kind = _kind_of(instruction)
        # A system prompt holds for questions too; a task has the conversation below it as a text.
        if kind is None or (instruction is not told and kind != "tool_calls" and not _turns(told)):
            continue
        if kind not in _MAKERS:
            raise _unknown_task()
        rest = [one for place, one in enumerate(spoken) if place != last or instruction is not told]
        return _in_form(kind, _MAKERS[kind](_questions(instruction, rest)), instruction, response_format)
    return None


def _unknown_task() -> Refusal:
    return Refusal(
        400,
        "unknown_task",
        "this model answers questions from documents. Of a chat page's own tasks it supports only titles, "
        "tags, follow-up questions and search queries; choose another model for tasks in the page's settings",
    )


def _kind_of(instruction: str) -> str | None:
    """What a page asks for, ``unknown`` for something else that it does; None for a question."""
    begin = instruction[:_NAMED_WITHIN]
    if _OF_OPEN_WEBUI.match(instruction):
        first = begin.partition("###")[2].partition("###")[0]
        for kind, words in _KINDS.items():
            if words.search(first):
                return kind
    if _TOOLS.match(instruction):
        return "tool_calls"
    if _EMOJI.search(begin):
        return "emoji"
    # The instruction may stand below the conversation.
    has_turns = bool(_turns(instruction))
    parts = (begin, instruction[-_NAMED_WITHIN:] if has_turns else "")
    if any(_TITLE.search(part) or _TITLE_ZH.search(part) for part in parts):
        return "title"
    other = has_turns and any(map(_OF_CONVERSATION.search, parts))
    return "unknown" if other or _HISTORY.search(instruction) or _OF_RESPONSES.match(instruction) else None


def _questions(instruction: str, others: Sequence[tuple[str, str]]) -> list[str]:
    """Those of the conversation in the instruction, else in the other messages, in turns or as one text."""
    within = _HISTORY.search(instruction)
    turns = _turns(within[1] if within else instruction)
    if not turns:
        for role, text in others:
            if role in {"user", "assistant"}:
                turns += _turns(text) or [(role == "user", text)]
    return [" ".join(text.split()) for asks, text in turns if asks and text.strip()]


def _turns(text: str) -> list[tuple[bool, str]]:
    marks = list(_TURN.finditer(text))
    if not any(mark[1].lower() in _USERS for mark in marks):
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        (mark[1].lower() in _USERS, text[mark.end() : end].strip().strip('"'))
        for mark, end in zip(marks, ends, strict=True)
    ]


def _in_form(kind: str, made: Any, instruction: str, response_format: Any) -> str:
    form = response_format.get("type") if isinstance(response_format, dict) else None
    wanted = form in {"json_object", "json_schema"}
    if isinstance(made, str) and not wanted and kind not in _JSON_KEY.findall(instruction):
        return made
    return json.dumps({kind: made}, ensure_ascii=False)


def _first_words(questions: Sequence[str]) -> str:
    first = next(iter(questions), "").rstrip("?？。.! ")
    return " ".join(first.split()[:_WORDS])[:_CHARACTERS] or "Chat"


def _last(questions: Sequence[str]) -> str:
    return questions[-1][:_LONGEST_QUERY] if questions else ""


#: Task → what is made of the questions; its name is the key in the page's form.
_MAKERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "title": _first_words,
    "tags": lambda questions: [_first_words(questions)],
    "follow_ups": lambda _: [],
    "queries": lambda questions: [_last(questions)] if questions else [],
    "text": lambda _: "",
    "prompt": _last,
    "tool_calls": lambda _: [],
    "emoji": lambda _: "💬",
}
