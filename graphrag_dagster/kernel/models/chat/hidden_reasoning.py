"""Strips reasoning that a server left in the text of a reply.

Most models put it between two tags at the beginning. Many chat templates write the first tag themselves, so
that the reply holds only the last. Of harmony's channels the last is the answer. A reply may also speak of
such a tag: in code, in a string of JSON, between quotes or in a sentence it is one of its words.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

_NAMES = "think|thinking|thoughts?|reason|reasoning|seed:think"
#: Marks of the beginning of reasoning and of its end, as the chat templates of open models have them.
_OPENING = re.compile(
    rf"<(?:{_NAMES})(?:\s[^<>]{{0,99}})?>|\[think\]|◁think▷|<\|start_thinking\|>|<\|begin_of_thought\|>"
    r"|<\|inner_prefix\|>|<unused94>|<\|channel>(?:thought|analysis)\b",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"</(?:{_NAMES})>|\[/think\]|◁/think▷|<\|end_(?:of_thought|thinking)\|>|<\|inner_suffix\|>|<unused95>"
    r"|<channel\|>",
    re.IGNORECASE,
)
_HARMONY = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]{0,200}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>")
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|start|channel)\|>")
#: Before a tag that is spoken of: the middle of a sentence, a list item, or a quote; and after one.
_SPOKEN_BEFORE = re.compile(r"[\w,] \Z|[`'“«(/|]\Z|^\s*[-*+•>]\s+\Z")
_SPOKEN_AFTER = frozenset(".,;:!?)/|'’`")
_FENCE = re.compile(r"^\s*```", re.MULTILINE)
#: Characters of a reply that tell how it begins, and of the longest mark.
_MIN_START_CHARACTERS, _LONGEST_MARK = 30, 40
_MAY_END = frozenset(">]▷")
#: What chat templates put round an answer.
TEMPLATE_MARK = re.compile(
    r"<\|(?:im_end|end|eot_id|return|endoftext|end_of_text|end_of_turn_token|(?:start|end)_response"
    r"|(?:begin|end)_of_solution)\|>|</s>|<end_of_turn>|<turn\|>",
    re.IGNORECASE,
)
#: Marks of a reply that are looked at.
_MOST_MARKS, _MOST_PARTS = 50, 20


@dataclass(frozen=True, slots=True)
class Split:
    """A reply in two. ``hidden``: it held reasoning. ``unopened``: of which only the end is marked."""

    shown: str
    hidden: bool = False
    unopened: bool = False


def split(text: str) -> Split:
    """Part a reply from the reasoning in it; reasoning without an end leaves nothing."""
    if (final := _final_channel(text)) is not None:
        return final
    rest, hidden, unopened = text, False, False
    for _ in range(_MOST_PARTS):
        begun = _OPENING.match(rest.lstrip())
        end = _end_of_reasoning(rest, opened=begun is not None)
        if end is None:
            return Split("", True, unopened) if begun else Split(rest, hidden, unopened)
        unopened = unopened or not (begun or hidden)
        rest, hidden = rest[end:], True
    return Split(rest, hidden, unopened)


def _final_channel(text: str) -> Split | None:
    """The last channel of a reply in harmony's form; None where it has another."""
    opened = _HARMONY.match(text) is not None
    final = None
    for mark in islice(_FINAL.finditer(text), _MOST_MARKS) if "<|channel|>" in text else ():
        if opened or not _is_spoken_of(text, mark):
            final = mark
    if final is None:
        return Split("", True) if opened else None
    rest = text[final.end() :]
    end = _END_OF_MESSAGE.search(rest)
    return Split(rest[: end.start()] if end else rest, True, unopened=not opened)


def _end_of_reasoning(text: str, *, opened: bool) -> int | None:
    """One past the tag that closes reasoning; None where there is none.

    One that the text speaks of counts where reasoning was opened and no other closes it.
    """
    marks = list(islice(_CLOSING.finditer(text), _MOST_MARKS))
    found = next((mark for mark in marks if not _is_spoken_of(text, mark)), None)
    if opened:
        found = found or (marks[0] if marks else None)
    elif found and _OPENING.search(text, 0, found.start()):
        found = None
    return found.end() if found else None


def _is_spoken_of(text: str, mark: re.Match[str]) -> bool:
    """Whether a tag is one of the words of a reply: in a string, in code, or in the middle of a sentence."""
    line = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
    after = text[mark.end() : mark.end() + 1]
    if line.count('"') % 2 or line.count("`") % 2 or (after and after in _SPOKEN_AFTER):
        return True
    if _SPOKEN_BEFORE.search(line):
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
        self._tail = ""

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
        found, self._looked_at = split(held), len(held)
        shown = found.shown.lstrip()
        self._hiding = not shown if found.hidden else self._reasons
        # What follows reasoning at once may be more of it.
        if not self._hiding and (not found.hidden or len(shown) >= _LONGEST_MARK):
            self._held = None
            self._pass_on(shown)

    def end(self, shown: str) -> None:
        """Pass on what is left of a reply that has come whole; ``shown`` is what it shows."""
        if self._held is None:
            self._listen(self._tail)
        elif shown:
            self._listen(shown)

    def _pass_on(self, text: str) -> None:
        text = TEMPLATE_MARK.sub("", self._tail + text)
        at = text.rfind("<")
        whole = at < 0 or len(text) - at > _LONGEST_MARK or re.search(r"[>\s]", text[at:])
        self._tail = "" if whole else text[at:]
        if shown := text if whole else text[:at]:
            self._listen(shown)
