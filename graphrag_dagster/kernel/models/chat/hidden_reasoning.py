"""Strips reasoning that a server left in the text of a reply.

Most models put it between two tags at the beginning. Many chat templates write the first tag themselves, so
that the reply holds only the last. Of harmony's channels the last is the answer. A reply may also speak of
such a tag: in code, in a string of JSON, between quotes or in a sentence it is one of its words.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

_NAMES = r"think|thinking|thoughts?|reason|reasoning|antthinking|seed:think|seed:cot_think"
#: What opens reasoning, and what closes it; ``{}`` is the name in the first.
_PAIRS = (
    (rf"<({_NAMES})(?:\s[^<>]{{0,99}})?>", r"</{}>"),
    (r"\[(think)\]", r"\[/{}\]"),
    ("◁(think)▷", "◁/{}▷"),
    (r"<\|(start)_thinking\|>", r"<\|end_thinking\|>"),
    (r"<\|(begin)_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|(inner)_prefix\|>", r"<\|inner_suffix\|>"),
    (r"<(unused)94>", r"<unused95>"),
    (r"<\|(channel)>(?:thought|analysis)\b", r"<channel\|>"),
)
_FLAGS = re.IGNORECASE | re.DOTALL
_OPENINGS = tuple((re.compile(rf"\s*{begin}", _FLAGS), end) for begin, end in _PAIRS)
_OPENING = re.compile(rf"<(?:{_NAMES})\b[^<>]{{0,99}}>|\[think\]|◁think▷", _FLAGS)
_CLOSING = re.compile(
    rf"</(?:{_NAMES})>|\[/think\]|◁/think▷|<\|end_(?:of_thought|thinking)\|>|<\|inner_suffix\|>|<unused95>",
    _FLAGS,
)
#: What each of them begins with; most replies have none of these, which is seen in a fraction of the time.
_BEGIN_CLOSING = ("</", "[/", "◁/", "<|", "<unused")
#: Round what follows reasoning, with some models.
_ROUND_ANSWER = re.compile(
    r"\s*(?:<\|(?:start_response|begin_of_solution)\|>(.*?)(?:<\|(?:end_response|end_of_solution)\|>\s*)?"
    r"|<(answer|response)>(.*?)</\2>\s*)\Z",
    _FLAGS,
)
_HARMONY = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]{0,200}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>")
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|start|channel)\|>")
#: Before a tag that is spoken of: the middle of a sentence, a list item, or a quote; and after one.
_SPOKEN_BEFORE = re.compile(r"[\w,] \Z|[`'“«(/|]\Z|^\s*[-*+•>]\s+\Z")
_SPOKEN_AFTER = frozenset(".,;:!?)/|'’`")
_IDEOGRAPHS = re.compile(r"[\u2e80-\u9fff]{2}")
_FENCE = re.compile(r"^\s*```", re.MULTILINE)
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
    if (told := _final_channel(text)) is not None:
        return told
    rest, found, unopened = text, False, False
    for _ in range(_MOST_PARTS):
        opening = next(((m, end) for one, end in _OPENINGS if (m := one.match(rest))), None)
        if opening:
            mark, closing = opening
            end = _end_of(rest, mark.end(), closing.format(re.escape(mark[1])))
            if end is None:
                return Split("", True, unopened, closed=False)
            rest, found = rest[end:], True
        elif (lone := _lone_end(rest)) is not None:
            rest, found, unopened = rest[lone:], True, unopened or not found
        else:
            break
    if not found:
        return Split(text)
    if wrapped := _ROUND_ANSWER.match(rest):
        rest = wrapped[1] if wrapped[1] is not None else wrapped[3]
    return Split(rest, True, unopened)


def _final_channel(text: str) -> Split | None:
    """The last channel of a reply in harmony's form; None where it has another."""
    opened = _HARMONY.match(text) is not None
    final = None
    for mark in islice(_FINAL.finditer(text), _MOST_MARKS) if "<|channel|>" in text else ():
        if opened or not _is_spoken_of(text, mark):
            final = mark
    if final is None:
        return Split("", True, closed=False) if opened else None
    rest = text[final.end() :]
    end = _END_OF_MESSAGE.search(rest)
    return Split(rest[: end.start()] if end else rest, True, unopened=not opened)


def _end_of(text: str, start: int, closing: str) -> int | None:
    """One past the tag that closes reasoning; one that the reasoning speaks of counts where no other is."""
    spoken_of = None
    for mark in islice(re.compile(closing, _FLAGS).finditer(text, start), _MOST_MARKS):
        if not _is_spoken_of(text, mark):
            return mark.end()
        spoken_of = spoken_of or mark.end()
    return spoken_of


def _lone_end(text: str) -> int | None:
    """One past a tag that closes reasoning which none opens; None where there is none."""
    if not any(begin in text for begin in _BEGIN_CLOSING):
        return None
    for mark in islice(_CLOSING.finditer(text), _MOST_MARKS):
        if _OPENING.search(text, 0, mark.start()):
            return None
        if not _is_spoken_of(text, mark):
            return mark.end()
    return None


def _is_spoken_of(text: str, mark: re.Match[str]) -> bool:
    """Whether a tag is one of the words of a reply: in a string, in code, or in the middle of a sentence."""
    line = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
    after = text[mark.end() : mark.end() + 1]
    if line.count('"') % 2 or line.count("`") % 2 or (after and after in _SPOKEN_AFTER):
        return True
    if _SPOKEN_BEFORE.search(line) or _IDEOGRAPHS.fullmatch(line[-1:] + after):
        return True
    return len(_FENCE.findall(text, 0, mark.start())) % 2 == 1 and "```" in text[mark.end() :]


class ShownReply:
    """Passes a reply on as it comes, without its reasoning.

    What begins as reasoning does is held back until it has an end, or the reply has.

    Args:
        listen: hears what is shown.
        reasons: whether the model reasons without marking where that begins.
    """

    def __init__(self, listen: Callable[[str], None], *, reasons: bool = False) -> None:
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
        elif told.hidden or self._reasons:
            self._hiding = True
        else:
            self._begin(held)

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
