"""Strips reasoning that a server left in the text of a reply, in the formats of various models and servers.

Most models put it between two marks at the beginning. Many chat templates write the first mark themselves, so
that the reply holds only the last. Of harmony's channels the last is the answer; a server that drops special
tokens leaves their names. A reply may also speak of such a mark: in code, in a string of JSON, between quotes
or in the middle of a sentence it is one of its words.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from graphrag_dagster.kernel.models.chat.json_repair import parse_sound_json

_NAMES = r"think|thinking|thoughts?|reason|reasoning|antthinking|seed:think|seed:cot_think"
#: What opens reasoning, and what closes it; ``\1`` is the name in the first.
_PAIRS = (
    (rf"<({_NAMES})(?:\s[^<>]{{0,99}})?>", r"</{}>"),
    (r"\[(think)\]", r"\[/{}\]"),
    ("◁(think)▷", "◁/{}▷"),
    (r"<\|(start)_thinking\|>", r"<\|end_thinking\|>"),
    (r"<\|(begin)_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|(inner)_prefix\|>", r"<\|inner_suffix\|>"),
    (r"<(unused)94>", r"<unused95>"),
    (r"<\|(channel)>(?:thought|analysis)\b", r"<channel\|>"),
    (r"(here) is my thought process:", r"here is my response:"),
)
_FLAGS = re.IGNORECASE | re.DOTALL
_OPENINGS = tuple((re.compile(begin, _FLAGS), end) for begin, end in _PAIRS)
_CLOSING = re.compile(
    rf"</({_NAMES})>|\[/(think)\]|◁/(think)▷|<\|end_(?:of_thought|thinking)\|>|<\|inner_suffix\|>|<unused95>"
    r"|<channel\|>",
    _FLAGS,
)
#: What each of them begins with; most replies have none of these, which is seen in a fraction of the time.
_BEGIN_CLOSING = ("<", "[/", "◁")
_BEFORE_ALL = re.compile(
    r"(?:\s|<\|?(?:im_start|start|start_of_role)\|?>\s*assistant(?:<\|end_of_role\|>)?)*"
)
#: Round what follows reasoning, with some models.
_ROUND_ANSWER = re.compile(
    r"\s*(?:<\|(?:start_response|begin_of_solution)\|>(.*?)(?:<\|(?:end_response|end_of_solution)\|>\s*)?"
    r"|<(answer|response)>(.*?)</\2>\s*)\Z",
    _FLAGS,
)
_HARMONY = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]{0,200}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>")
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|start|channel)\|>")
#: Harmony without its special tokens.
_BARE_ANALYSIS = re.compile(r"\s*(?:assistant)?(?:analysis|commentary)(?=[A-Z\s\"'{(\[<])")
_BARE_GLUED = re.compile(r"\s*(?:assistant)?analysis(?=[A-Z\"'{(\[])")
_BARE_FINAL = re.compile(r"assistant\s*final(?:\s*json)?(?=[^a-z]|\Z)")
#: The end of analysis that the template began.
_GLUED_FINAL = re.compile(
    r"<\|end\|>\s*<\|start\|>\s*assistant\s*<\|channel\|>\s*final\b[^<]{0,200}<\|message\|>"
    r"|(?:(?<=[^\s\w])|^)assistantfinal(?=[^a-z\s])",
    re.MULTILINE,
)
_SENTENCE_END = frozenset(".!?:…。！？")
_GOES_ON = frozenset(".,;:!?)/|'’")
_QUOTES = {"`": "`", '"': '"', "'": "'", "“": "”", "«": "»", "(": ")"}
_JSON_BEGIN = re.compile(r"\s*(?:```\w{0,20}\s*)?[{\[](?=\s*[\"{\[])")
_JSON_ANYWHERE = re.compile(r"[{\[](?=\s*[\"{\[])")
_STRING_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_DEEPEST, _MOST_VALUES = 64, 20
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]|\d{1,3}[.)])\s+")
_BEFORE_A_WORD = re.compile(
    r"\b(?:the|an?|this|that|tags?|tokens?|marks?|markers?|elements?|with|by|in|and|or|of|closing|closed|ends?)\Z",
    re.IGNORECASE,
)
#: How models begin to reason where nothing marks it: they speak of what to do, or of who asks. Answers, too,
#: begin with "So," or "We have".
_MUSING = re.compile(
    r"\s*(?:ok(?:ay)?\b|alright\b|hmm+|wait\b|嗯|(?:(?:so|now|well|right|first|首先|好的|好)\b[,，]?\s*)?"
    r"(?:let me\b|let'?s\b|i (?:need|should|have to|must|will|am asked)\b"
    r"|we (?:need|have to|should|must|are (?:asked|given|to))\b|to answer (?:this|the question)\b"
    r"|(?:the )?(?:user|question) (?:is|asks?|asked|says|said|wants|needs|has|provided|gave)\b"
    r"|thinking process|用户|让我|我们需要))",
    re.IGNORECASE,
)
#: Characters of a reply that tell how it begins, and of the longest mark.
_MIN_START_CHARACTERS, _LONGEST_MARK = 30, 40
_MAY_END = frozenset(">]▷")
_SINGLE_MARKS = re.compile(
    r"<\|(?:im_end|end|eot_id|return|endoftext|end_of_text|(?:start|end)_response|(?:begin|end)_of_solution)\|>"
    r"|</s>|<end_of_turn>|<turn\|>",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"<(answer|response)>\s*", re.IGNORECASE)
#: Marks of a reply that are looked at.
_MOST_MARKS, _MOST_PARTS = 50, 20


@dataclass(frozen=True, slots=True)
class Split:
    """A reply in two. ``hidden``: it held reasoning. ``unopened``: of which only the end is marked.

    ``closed``: the reasoning has an end. ``shown`` is the rest.
    """

    shown: str
    hidden: bool = False
    unopened: bool = False
    closed: bool = True


def split(text: str) -> Split:
    """Part a reply from the reasoning in it; reasoning without an end leaves nothing."""
    if (told := _channels(text)) is not None:
        return told
    rest, found, unopened = text, False, False
    for _ in range(_MOST_PARTS):
        begin = _BEFORE_ALL.match(rest)
        at = begin.end() if begin else 0
        opening = next((m for m in ((one.match(rest, at), end) for one, end in _OPENINGS) if m[0]), None)
        if opening and opening[0]:
            end = _end_of(rest, opening[0].end(), opening[1].format(re.escape(opening[0][1])))
            if end is None:
                # A phrase in plain words is none where nothing answers it.
                if opening[0][0].endswith(":"):
                    break
                return Split("", True, unopened, closed=False)
            rest, found = rest[end:], True
        elif (lone := _unopened_end(rest)) is not None:
            rest, found, unopened = rest[lone:], True, unopened or not found
        else:
            break
        if (told := _channels(rest)) is not None:
            rest = told.shown
    if not found:
        return Split(text)
    wrapped = _ROUND_ANSWER.match(rest)
    if wrapped:
        rest = wrapped[1] if wrapped[1] is not None else wrapped[3]
    return Split(rest, True, unopened)


def _channels(text: str) -> Split | None:
    """The last channel of a reply in harmony's form; None where it has another."""
    if _HARMONY.match(text):
        final = _last(_FINAL.finditer(text))
        if final is None:
            return Split("", True, closed=False)
        rest = text[final.end() :]
        end = _END_OF_MESSAGE.search(rest)
        return Split(rest[: end.start()] if end else rest, True)
    if _BARE_ANALYSIS.match(text):
        if final := _BARE_FINAL.search(text):
            return Split(text[final.end() :], True)
        if _BARE_GLUED.match(text):
            return Split("", True, closed=False)
    # Nearly no reply has the word; to look for the mark takes as long as all else that is done with one.
    for final in islice(_GLUED_FINAL.finditer(text), _MOST_MARKS) if "final" in text else ():
        if not _in_code(text, final.start()) and not _in_json(text, final.start()):
            rest = text[final.end() :]
            end = _END_OF_MESSAGE.search(rest)
            return Split(rest[: end.start()] if end else rest, True, unopened=True)
    return None


def _end_of(text: str, start: int, closing: str) -> int | None:
    """One past the mark that closes reasoning; one that the reasoning speaks of counts where no other is."""
    spoken_of = None
    for mark in re.compile(closing, _FLAGS).finditer(text, start):
        if not _is_quoted(text, mark):
            return mark.end()
        spoken_of = spoken_of or mark.end()
    return spoken_of


def _unopened_end(text: str) -> int | None:
    """One past a mark that closes reasoning which none opens; None where there is none."""
    if not any(begin in text for begin in _BEGIN_CLOSING):
        return None
    for mark in islice(_CLOSING.finditer(text), _MOST_MARKS):
        spoken_of = _is_a_word(text, mark) or _is_opened_earlier(text, mark)
        if not spoken_of and not _in_code(text, mark.start()) and not _in_json(text, mark.start()):
            return mark.end()
    return None


def _is_a_word(text: str, mark: re.Match[str]) -> bool:
    """Whether a mark is spoken of: quoted, or in the middle of a sentence."""
    if _is_quoted(text, mark):
        return True
    line = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
    after = text[mark.end() : mark.end() + 2]
    before = line[-1:]
    if (after[:1] in _GOES_ON and after) or before in {"/", "|"}:
        return True
    if before.strip():
        # Templates write it close to what stands before it; so does who writes without blanks.
        return _is_ideographic(before) and _is_ideographic(after[:1])
    if _LIST_MARK.fullmatch(line):
        return True
    said = line.rstrip()
    if not said or said[-1] in _SENTENCE_END or after[:1] not in {" ", "\t"} or not after[1:].strip():
        return False
    begins_anew = after[1].isupper() or after[1] in '{[#*"0123456789'
    return not begins_anew or _BEFORE_A_WORD.search(said) is not None


def _is_ideographic(character: str) -> bool:
    return character >= "\u2e80" and character.isalnum()


def _is_quoted(text: str, mark: re.Match[str]) -> bool:
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return before in _QUOTES and after == _QUOTES[before]


def _is_opened_earlier(text: str, closing: re.Match[str]) -> bool:
    """Whether what is closed was opened further up, by a mark that is not itself spoken of."""
    name = next((group for group in closing.groups() if group), None)
    if name is None:
        return False
    begin, end = {"<": ("<", ">"), "[": ("[", "]"), "◁": ("◁", "▷")}[closing[0][0]]
    opening = re.compile(rf"{re.escape(begin + name)}(?:\s[^<>]{{0,99}})?{re.escape(end)}", _FLAGS)
    last = _last(opening.finditer(text, 0, closing.start()))
    if last is None:
        return False
    return "\n" not in text[last.end() : closing.start()] or not _is_a_word(text, last)


def _last(marks: Iterable[re.Match[str]]) -> re.Match[str] | None:
    last = None
    for mark in marks:
        last = mark
    return last


def _in_code(text: str, place: int) -> bool:
    before = text[:place]
    if (len(re.findall(r"^\s*```", before, re.MULTILINE)) % 2) and "```" in text[place:]:
        return True
    line = before[before.rfind("\n") + 1 :]
    return line.count("`") % 2 == 1 and "`" in text[place:].split("\n", 1)[0]


def _in_json(text: str, place: int) -> bool:
    """Whether a place is inside a string of JSON."""
    if (begin := _JSON_BEGIN.match(text)) and parse_sound_json(text, begin.end() - 1, _DEEPEST) is None:
        quotes = sum(one[0] == '"' for one in _STRING_QUOTE.finditer(text, begin.end(), place))
        return quotes % 2 == 1
    return any(start < place < end for start, end in _values(text, place))


def _values(text: str, until: int) -> Iterator[tuple[int, int]]:
    at = 0
    for _ in range(_MOST_VALUES):
        start = _JSON_ANYWHERE.search(text, at, until)
        if start is None:
            return
        found = parse_sound_json(text, start.start(), _DEEPEST)
        at = found[0] if found else start.end()
        if found:
            yield start.start(), found[0]


class ShownReply:
    """Passes a reply on as it comes, without its reasoning.

    What begins as reasoning does is held back until it has an end, or the reply has.

    Args:
        listen: hears what is shown.
        reasons: whether the model reasons without marking where that begins; None: not known, so that it is
            told from how the reply begins.
    """

    def __init__(self, listen: Callable[[str], None], *, reasons: bool | None = None) -> None:
        self._listen = listen
        self._reasons = reasons
        self._held: str | None = ""
        self._hiding = False
        self._looked_at = 0
        self._tail = self._closing = ""

    def __call__(self, piece: str) -> None:
        """Take the next piece."""
        if self._held is None:
            self._pass_on(piece)
            return
        self._held += piece
        held = self._held
        if len(held.lstrip()) < _MIN_START_CHARACTERS:
            return
        # Looked at again now and then, lest that takes the square of its length.
        if self._hiding and _MAY_END.isdisjoint(piece) and len(held) < 1.1 * self._looked_at + _LONGEST_MARK:
            return
        told, self._looked_at = split(held), len(held)
        shown = told.shown.lstrip()
        if told.hidden and told.closed:
            self._hiding = False
            # What follows at once may be more of it.
            if len(shown) >= _LONGEST_MARK:
                wrapped = _WRAPPED.match(shown)
                self._closing = f"</{wrapped[1]}>" if wrapped else ""
                self._begin(shown[wrapped.end() :] if wrapped else shown)
        elif told.hidden or _begins_bare(held) or self._muses(held):
            self._hiding = True
        else:
            self._begin(held)

    def _muses(self, held: str) -> bool:
        return _MUSING.match(held) is not None if self._reasons is None else self._reasons

    def end(self, shown: str) -> None:
        """Pass on what is left of a reply that has come whole; ``shown`` is what it shows."""
        if self._held is None:
            self._listen(self._tail)
        elif shown:
            self._listen(shown)

    def _begin(self, text: str) -> None:
        self._held = None
        self._pass_on(text)

    def _pass_on(self, text: str) -> None:
        text = _SINGLE_MARKS.sub("", self._tail + text)
        if self._closing:
            text = text.replace(self._closing, "")
        at = text.rfind("<")
        whole = at < 0 or len(text) - at > _LONGEST_MARK or re.search(r"[>\s]", text[at:])
        self._tail = "" if whole else text[at:]
        if shown := text if whole else text[:at]:
            self._listen(shown)


def _begins_bare(text: str) -> bool:
    return _BARE_ANALYSIS.match(text) is not None or any(
        opening.match(text.lstrip()) for opening, _ in _OPENINGS
    )
