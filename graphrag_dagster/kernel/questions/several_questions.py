"""Messages with several questions or words for whoever answers, and one answer made of several (English)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

from graphrag_dagster.kernel.questions.context.answer import Answer, Source, Statement
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words, asks_anything
from graphrag_dagster.kernel.text.english_words import GREETINGS, STOP_WORDS, WISHES
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.text_similarity import words

#: Most questions of a message that are answered; the others are named.
MOST_QUESTIONS = 10
TOO_MANY = f"This question was not asked: of a message, the first {MOST_QUESTIONS} are. Ask it by itself."

_WH = r"(?:who|whom|whose|what|which|when|where|why|how)"
_ASKS = re.compile(
    rf"(?:(?:and|also|then|but|so)\s+)?(?:{_WH}\b|(?:to|by|with|for|from|at|in) (?:whom|which|what)\b"
    r"|(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\s+\w+"
    r"|(?:list|name|describe|explain|summari[sz]e|compare|tell|show|find|give)\b)",
    re.IGNORECASE,
)
#: "I would like to know", "can you please tell me" before what is asked.
_LEADING = re.compile(
    r"\A\W*(?:(?:hello|hi|hey)\b(?: \w+)?[\s,.!:–—-]*)?"
    r"(?:please[\s,:]+)?"
    r"(?:(?:i(?:['’]d| would| want| was| am|['’]m)?(?: just| also)?(?: like| want(?:ed)?| need| hop(?:e|ing)"
    r"| wonder(?:ing|ed)?| curious)?"
    r"(?: to (?:know|ask|learn|find out|understand|hear)| if you (?:can|could) (?:please )?tell me)?"
    r"|(?:can|could|would|will) (?:you|anyone|somebody|someone) (?:(?:please|kindly|briefly|quickly) )*"
    r"(?:tell (?:me|us)|say|let me know|explain)(?: briefly| in short)?"
    r"|(?:do|does) (?:you|anyone|anybody|somebody) (?:happen to )?know"
    r"|(?:please |kindly )?(?:tell (?:me|us)|let me know)),?\s+"
    rf"(?:please,?\s+)?)?(?=(?:exactly )?(?:(?:in|at|on|to|by|from|for|with) )?{_WH}\b)",
    re.IGNORECASE,
)
_PLEASE = re.compile(
    r",?\s*\b(?:please|kindly)\b,?(?=\s|[?.!]|\Z)|\A\s*(?:please|kindly)\b,?\s*", re.IGNORECASE
)
_FORM = (
    r"(?:sentences?|words?|paragraphs?|bullets?|bullet points?|lists?|tables?|lines?|detail|brief|short"
    r"|english)"
)
_IN_THIS_FORM = re.compile(
    r"[\s,]*(?:\(\s*)?\b(?:in|as|with|using)\s+(?:(?:at most|no more than|not more than|up to|about)\s+)?"
    r"(?:(?:an?|one|two|three|four|five|six|ten|few|just|only|single|short|brief|plain|simple|bulleted|\d+)\s+)*"
    rf"{_FORM}(?:\s+(?:only|please|or less|at most))?\s*\)?(?=\s*[?.!]*\s*\Z)",
    re.IGNORECASE,
)
#: Between two phrases; a full stop, a colon or a comma only before a blank.
_BETWEEN = re.compile(r"[!?;\n]+\s*|[.,:]+(?:\s+|\Z)|\s+[–—-]+\s*")
_SALUTATION = re.compile(
    r"\W*(?:dear|hello|hi|hey|greetings|good (?:morning|afternoon|evening|day))\b", re.IGNORECASE
)
_CLOSING = re.compile(
    r"\W*(?:(?:many |with )?thanks|thank you|cheers|(?:(?:with )?(?:my )?(?:best|kind|kindest|warm) )?"
    r"(?:regards|wishes)|best|yours(?: sincerely| faithfully| truly)?|sincerely)\b",
    re.IGNORECASE,
)
#: Most words of a salutation, and of what follows the beginning of a closing, such as a signature.
_SALUTED, _SIGNED = 4, 8
_NUMBERED = re.compile(r"\A\s*(?:\d{1,2}[.)]|[-*•])\s+")
_AND = re.compile(rf",?\s+(?:and|and also|and then)\s+(?={_WH}\b)", re.IGNORECASE)
_LINES = re.compile(r"(?<=\?)\s+|\n+")
_BEGINS = re.compile(rf"(?:(?:to|by|with|for|from|at|in|on) )?{_WH}\b", re.IGNORECASE)


def questions_in(message: str) -> list[str]:
    """Return the questions of a message in order, without words for whoever answers; none if there is none.

    Greetings, thanks, signatures and wishes on the form of the answer are such words. Sentences that ask
    nothing stay with the question they stand before.

    >>> questions_in("Hello! Who built the quay, and when did the mill burn? Thanks, Tom")
    ['Who built the quay', 'when did the mill burn?']
    >>> questions_in("In one sentence, who built the quay?")
    ['who built the quay?']
    """
    # Runs of blanks would take the patterns the square of their length.
    lines = (" ".join(line.split()) for line in message.splitlines())
    said = _without_courtesy("\n".join(filter(None, lines)))
    found: list[str] = []
    before = ""
    for sentence in _sentences(said):
        text = _LEADING.sub("", _NUMBERED.sub("", sentence))
        if text.endswith("?") or _ASKS.match(text):
            found += _coordinated(f"{before} {text}".strip())
            before = ""
        else:
            before = f"{before} {text}".strip()
    if before:
        found = [*found[:-1], f"{found[-1]} {before}"] if found else [before]
    return [one for one in found if asks_anything(one)]


def _sentences(message: str) -> Iterator[str]:
    for line in _LINES.split(message):
        for span in sentence_spans(line):
            yield line[span.start : span.end].strip()


def _without_courtesy(message: str) -> str:
    """Return a message without greetings, thanks, signatures and wishes on the form of the answer."""
    kept = "".join(_phrases_about_something(message))
    return _PLEASE.sub("", _IN_THIS_FORM.sub("", kept)).strip(" ,;:–—-\n")


def _phrases_about_something(message: str) -> Iterator[str]:
    bounds = [0, *(found.end() for found in _BETWEEN.finditer(message)), len(message)]
    phrases = [message[start:end] for start, end in pairwise(bounds) if end > start]
    for place, phrase in enumerate(phrases):
        rest = phrases[place:]
        if (place or _is_courtesy(phrase)) and _CLOSING.match(phrase) and _is_signature(rest):
            return
        if "?" not in phrase and not place and _SALUTATION.match(phrase) and len(words(phrase)) <= _SALUTED:
            continue
        if not _is_courtesy(phrase):
            yield phrase


def _is_signature(phrases: Sequence[str]) -> bool:
    """Whether phrases from a closing on ask nothing and are short."""
    asks = any("?" in phrase or _ASKS.match(phrase.strip()) for phrase in phrases)
    return not asks and len(words("".join(phrases))) <= _SIGNED


def _is_courtesy(phrase: str) -> bool:
    about = [word for word in words(phrase) if word not in STOP_WORDS and not word.isdigit()]
    wishes = GREETINGS if _BEGINS.match(phrase) else GREETINGS | WISHES
    return bool(about) and all(word in wishes for word in about)


def _coordinated(question: str) -> list[str]:
    """Return the questions that "and" joins; each has words of its own to look for."""
    parts = [question]
    for found in reversed(list(_AND.finditer(question))):
        first, second = question[: found.start()], parts[0][found.end() :]
        if _BEGINS.match(first) and asked_words(first) and asked_words(second):
            parts[:1] = [first, second]
    return parts


def joined(question: str, parts: Sequence[tuple[str, Answer]]) -> Answer:
    """Return one answer made of the answers to the questions of a message, each under its question.

    It is refused if all of them are; the marks of sources are numbered through.

    Args:
        question: the message.
        parts: the questions with their answers, at least one.
    """
    shown = ""
    sources: list[Source] = []
    statements: list[Statement] = []
    marks: list[Span] = []
    for asked, one in parts:
        by = len(sources)
        text, own = _renumbered(one, by)
        shown += ("\n\n" if shown else "") + f"**{asked}**\n\n"
        marks += [Span(len(shown) + mark.start, len(shown) + mark.end) for mark in own]
        shown += text
        sources += [replace(source, number=source.number + by) for source in one.sources]
        statements += [_moved(statement, by) for statement in one.statements]
    answers = [one for _, one in parts]
    first = next((one for one in answers if not one.refused), answers[0])
    lists = ("context", "scores", "problems", "steps", "trace", "favoured")
    together = {name: reduce(add, (getattr(one, name) for one in answers)) for name in lists}
    return replace(
        first,
        question=question,
        text=shown,
        marks=tuple(marks),
        refused=first.refused,
        why="; ".join(dict.fromkeys(filter(None, (one.why for one in answers)))) or None,
        sources=tuple(sources),
        statements=tuple(statements),
        dropped=sum(one.dropped for one in answers),
        removed_citations=sum(one.removed_citations for one in answers),
        usage=reduce(add, (one.usage for one in answers)),
        query=first.query if all(one.query for one in answers) else None,
        **together,
    )


def _moved(statement: Statement, by: int) -> Statement:
    return replace(statement, sources=tuple(number + by for number in statement.sources))


def _renumbered(answer: Answer, by: int) -> tuple[str, Sequence[Span]]:
    """Return the text of an answer with other numbers of its sources, and where its marks stand in it."""
    done, rest, marks = "", answer.text, answer.marks
    for statement in answer.statements if by else ():
        said = words(statement.text)
        old = "".join(f"[{number}]" for number in statement.sources)
        ends = rf"(?i:{re.escape(said[-1])})\W{{0,9}}?" if said else ""
        if old and (found := re.search(rf"{ends}(?=\s?{re.escape(old)})", rest)):
            start = rest.index(old, found.end())
            new = "".join(f"[{number + by}]" for number in statement.sources)
            done, rest = done + rest[:start] + new, rest[start + len(old) :]
            longer = len(new) - len(old)
            marks = tuple(
                mark if mark.end <= len(done) - len(new) else Span(mark.start + longer, mark.end + longer)
                for mark in marks
            )
    return done + rest, marks
