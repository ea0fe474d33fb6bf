"""Tasks that chat pages set beside the questions of their users, answered from the conversation itself.

Open WebUI, LibreChat, LobeChat, NextChat and others ask the model of a conversation for its title, tags,
further questions or search queries. The documents hold nothing of that; what is asked for is made of the
words of the conversation, in the form in which the page reads it.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.service.error_responses import Refusal
from graphrag_dagster.service.openai.chat_messages import ChatMessage, text_of, without_sources

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
_WORDS_AT_MOST = re.compile(r"(\d{1,2})\s*-?\s*words?\b(?!\s*title\b.{0,40}\bor more)", re.I)
_CHARACTERS_AT_MOST = re.compile(
    r"(?:max(?:imum)?|at most|within|under)?\s*(\d{1,3})\s*(?:characters?\b|个字)", re.I
)
_WORDS, _CHARACTERS, _IDEOGRAPHS = 5, 60, 12
_MOST_TAGS, _MOST_FOLLOW_UPS, _LONGEST_QUERY = 5, 3, 300
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_NAME = re.compile(r"[A-Z][\w'’&-]+(?:\s+(?:of\s+|the\s+)?[A-Z][\w'’&-]+)*")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: What a question begins with and a title does not, and words that say nothing of a matter.
_SMALL = frozenset(
    """
    a an and any are as at be been being but by can could did do does for from get give had has have hello hey
    hi how i if in is it its let list me may might my name no not of on or our please shall should show so
    some tell than thanks that the their them then there these they this those to us was we were what when
    where which who whom whose why will with would you your about all also explain describe find into more
    said say
    """.split()  # noqa: SIM905 - a list of so many would fill a page.
)
_LEADING = _SMALL - {"no", "not"}
_ENGLISH = frozenset(
    {"the", "of", "and", "is", "was", "are", "who", "what", "which", "how", "why", "did", "in", "to"}
)


@dataclass(frozen=True, slots=True)
class ChatConversation:
    """What was said: by the users and by the model, in order."""

    questions: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def last(self) -> str:
        """The last question."""
        return self.questions[-1] if self.questions else ""


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
        rest = [one for place, one in enumerate(spoken) if place != last or instruction is not told]
        said = _conversation(instruction, rest)
        if kind not in _MAKERS:
            raise _unknown_task()
        return _in_form(kind, _MAKERS[kind](said, instruction), instruction, response_format)
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


def _conversation(instruction: str, others: Sequence[tuple[str, str]]) -> ChatConversation:
    """The conversation in the instruction, else in the other messages, be it in turns or as one text."""
    within = _HISTORY.search(instruction)
    turns = _turns(within[1] if within else instruction)
    if not turns:
        for role, text in others:
            if role in {"user", "assistant"}:
                turns += _turns(text) or [(role == "user", text)]
    questions = (" ".join(text.split()) for asks, text in turns if asks)
    answers = (without_sources(text) for asks, text in turns if not asks)
    return ChatConversation(tuple(filter(None, questions)), tuple(filter(None, answers)))


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
    schema = response_format.get("json_schema") if isinstance(response_format, dict) else None
    properties = (schema.get("schema") or {}).get("properties") if isinstance(schema, dict) else None
    form = response_format.get("type") if isinstance(response_format, dict) else None
    wanted = form in {"json_object", "json_schema"}
    if isinstance(made, str) and not wanted and kind not in _JSON_KEY.findall(instruction):
        return made
    known = {kind: made, "language": "English"}
    filled = {name: known[name] for name in properties if name in known} if properties else {kind: made}
    return json.dumps(filled or {kind: made}, ensure_ascii=False)


def _title(said: ChatConversation, instruction: str) -> str:
    """The words of the first question that name its matter, in its order."""
    asked = next(iter(said.questions), "") or next(iter(said.answers), "")
    characters = _limit(_CHARACTERS_AT_MOST, instruction, _CHARACTERS)
    if len(_IDEOGRAPH.findall(asked)) > len(asked) / 3:
        return re.sub(r"[\s？?。！!，,]+", " ", asked).strip()[: min(characters, _IDEOGRAPHS)] or "Chat"
    words = _WORD.findall(asked)
    while len(words) > 1 and words[0].lower() in _LEADING:
        words.pop(0)
    kept = words[: _limit(_WORDS_AT_MOST, instruction, _WORDS)]
    while len(kept) > 1 and (kept[-1].lower() in _LEADING or len(" ".join(kept)) > characters):
        kept.pop()
    title = " ".join(kept)[:characters].strip() or "Chat"
    return title[0].upper() + title[1:]


def _limit(pattern: re.Pattern[str], instruction: str, otherwise: int) -> int:
    told = [int(number) for number in pattern.findall(instruction[:_NAMED_WITHIN]) if int(number)]
    return max(told) if told else otherwise


def _tags(said: ChatConversation, _: str) -> list[str]:
    found = dict.fromkeys(_names(" ".join(said.questions)))
    counted = Counter(
        word.lower()
        for text in (*said.questions, *said.questions, *said.answers)
        for word in _WORD.findall(text)
        if len(word) > 3 and word.lower() not in _SMALL and not word.isdigit()
    )
    in_names = {word.lower() for name in found for word in name.split()}
    found |= dict.fromkeys(
        word.capitalize() for word, count in counted.most_common() if count > 1 and word not in in_names
    )
    return list(found)[:_MOST_TAGS] or ["General"]


def _follow_ups(said: ChatConversation, _: str) -> list[str]:
    """Questions about names of the last answer that nobody asked about; in English conversations only."""
    asked = " ".join(said.questions).lower()
    if not said.answers or not _ENGLISH.intersection(asked.split()):
        return []
    names = dict.fromkeys(name for name in _names(said.answers[-1]) if name.lower() not in asked)
    return [f"What else do the documents say about {name}?" for name in list(names)[:_MOST_FOLLOW_UPS]]


def _names(text: str) -> list[str]:
    names = (match[0].strip() for match in _NAME.finditer(text))
    parts = (_without_small(name) for name in names)
    return [name for name in parts if name]


def _without_small(name: str) -> str:
    words = name.split()
    while words and words[0].lower() in _SMALL:
        words.pop(0)
    return " ".join(words)


def _queries(said: ChatConversation, _: str) -> list[str]:
    return [said.last[:_LONGEST_QUERY]] if said.last else []


#: Task → what is made of the conversation; its name is the key in the page's form.
_MAKERS: dict[str, Callable[[ChatConversation, str], Any]] = {
    "title": _title,
    "tags": _tags,
    "follow_ups": _follow_ups,
    "queries": _queries,
    "text": lambda _said, _instruction: "",
    "prompt": lambda said, _instruction: said.last[:_LONGEST_QUERY],
    "tool_calls": lambda _said, _instruction: [],
    "emoji": lambda _said, _instruction: "💬",
}
