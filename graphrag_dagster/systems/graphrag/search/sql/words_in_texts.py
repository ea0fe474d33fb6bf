"""Words that a question looks for in the texts, and the pattern that finds them there."""

import re
import unicodedata
from collections.abc import Callable, Mapping

import polars as pl

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.retrieval.search_words import fold_name
from graphrag_dagster.kernel.text.east_asian import has_east_asian
from graphrag_dagster.systems.graphrag.search.sql.query_template import Template
from graphrag_dagster.systems.graphrag.search.sql.slot_values import Filled, Unfit

#: Quoted words, but not a quoted folder or file.
QUOTED = re.compile(
    r"(?<!folder )(?<!directory )(?<!file )"
    r"(?:[\"“”«„]([^\"“”«»„]+)[\"“”»]|(?<!\w)['‘]([^'‘’]+)['’](?!\w))(?! (?:folder|directory|file)\b)"
)
_LEADING = re.compile(
    r"(?:(?:both|either|only|the|exact|an?|anything about|(?:some|any)(?:one|thing) called)\s+)*"
    r"(?:words?|names?|terms?|phrases?|expressions?|strings?)\s+(?!of\b)(?=\S)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\A(?:(?:the|an?|both|either)\s+)+(?=\S)", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\s*,\s*(?:and\s+|or\s+)?(?:also\s+)?|\s+(?:and(?:\s+also)?|as well as|or|&)\s+", re.IGNORECASE
)
_OR = re.compile(r"\bor\b", re.IGNORECASE)

#: What stands between words. RE2's ``\b`` knows ASCII only.
_GAP = r"[^\pL\pN\pM]"


def phrases_in(said: str, is_name: Callable[[str], bool]) -> tuple[list[str], bool]:
    """Return the phrases that a question looks for, and whether one of them is enough.

    What is quoted is one phrase, else *and*, *or* and commas separate phrases unless they are within a name.

    Args:
        said: as the question has it.
        is_name: whether words are the whole of a name of the graph.
    """
    if quoted := [next(filter(None, one.groups())) for one in QUOTED.finditer(said)]:
        return quoted, bool(_OR.search(QUOTED.sub("", said)))
    said = _LEADING.sub("", said.strip(), count=1) if _LEADING.match(said.strip()) else said.strip()
    pieces = [(one.start(), one.end()) for one in _BETWEEN.finditer(said)]
    starts = [0, *(end for _, end in pieces)]
    ends = [*(start for start, _ in pieces), len(said)]
    phrases, outside, first = [], "", 0
    while first < len(starts):
        # The longest name that begins here, else the words up to the next conjunction.
        spans = range(len(ends) - 1, first, -1)
        last = next((one for one in spans if is_name(said[starts[first] : ends[one]])), first)
        phrases.append(said[starts[first] : ends[last]])
        outside += said[ends[last] : starts[last + 1]] if last + 1 < len(starts) else ""
        first = last + 1
    bare = [one if is_name(one) else _ARTICLE.sub("", one, count=1) for one in phrases]
    return list(dict.fromkeys(filter(fold_name, bare))), bool(_OR.search(outside))


def pattern_of(phrase: str, index: IndexSnapshot) -> str:
    """Return the RE2 pattern of whole words in whatever case and accents, as :func:`fold_name` has them.

    Blanks and signs between the words may be any, and ``'s`` may follow each.

    Args:
        phrase: the words.
        index: whose texts are searched; letters that these do not have are left out of the pattern.

    Returns:
        blank for a phrase without words.
    """
    found = _words(phrase)
    if not found:
        return ""
    alike = index.once(_alike)
    between = rf"(?:['’ʼ]s)?{_GAP}+"
    letters = between.join(_spelled(word, alike) for word in found)
    # Chinese and Japanese have no signs between words.
    before = "" if has_east_asian(found[0][0]) else rf"(?:^|{_GAP})"
    after = "" if has_east_asian(found[-1][-1]) else rf"(?:{_GAP}|$)"
    return f"(?i){before}{letters}{after}"


def _words(phrase: str) -> list[str]:
    folded = fold_name(phrase)
    signs = (char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in folded)
    return "".join(signs).split()


def _spelled(word: str, alike: Mapping[str, str]) -> str:
    """A folded word, each letter with all that fold to it."""
    made, place = "", 0
    while place < len(word):
        part = next(
            (word[place : place + n] for n in (3, 2) if word[place : place + n] in alike), word[place]
        )
        single = "".join(_one_of(letter, alike) for letter in part)
        made += single if len(part) == 1 else f"(?:[{alike[part]}]|{single})"
        place += len(part)
    return made


def _one_of(letter: str, alike: Mapping[str, str]) -> str:
    made = f"[{letter}{alike[letter]}]" if letter in alike else letter
    # In scripts without case, such marks are vowels.
    accented = letter.lower() != letter.upper() or unicodedata.bidirectional(letter) in ("R", "AL")
    return rf"{made}\pM*" if accented and _MARKS in alike else made


#: Key where accents are characters of their own.
_MARKS = ""


def _alike(index: IndexSnapshot) -> Mapping[str, str]:
    """By one to three folded letters, the other characters of the texts that are folded to them."""
    found: set[str] = set()
    for text in index.documents["text"]:
        if not text.isascii():
            found.update(text)
    alike: dict[str, str] = {}
    for char in sorted(found):
        folded = fold_name(char)
        if unicodedata.combining(char):
            alike[_MARKS] = char
        # RE2 itself ignores case.
        elif char.isalnum() and folded.isalnum() and folded not in (char, char.lower()):
            alike[folded] = alike.get(folded, "") + char
    return alike


_WITHOUT = re.compile(r"^[^\"“”]*\b(?:but not|and not|without|except)\b", re.IGNORECASE)
_ASKS_MORE = re.compile(r"\b(?:and|or) (?:who|what|when|where|why|how|which)\b", re.IGNORECASE)


def fill_words(filled: Filled, said: str, template: Template, index: IndexSnapshot) -> None:
    """Documents whose text contains words; all if none are said.

    Raises:
        Unfit: what is said has no words, has more than the template allows, or excludes some.
    """
    if not said:
        for piece in ("within", "units", "unit"):
            filled.pieces.setdefault(piece, "")
        filled.pieces.setdefault("holds", "true")
        filled.words.setdefault("holding", "")
        return
    if _WITHOUT.search(said):
        raise Unfit("documents that hold some words without others cannot be counted", 3)
    if _ASKS_MORE.search(QUOTED.sub("", said)):
        raise Unfit("the question asks for something else, too: ask that by itself", 3)
    phrases, either = phrases_in(said, lambda words: is_name(words, index))
    patterns = {f"words_{n}": made for n, one in enumerate(phrases, 1) if (made := pattern_of(one, index))}
    if len(patterns) < max(len(phrases), 1):
        raise Unfit(f"{said!r} has no words that could stand in a text", 2)
    if len(phrases) > (most := template.names[1]):
        raise Unfit(f"the question looks for {len(phrases)} names where it can look for {most}", 2)
    filled.parameters |= patterns
    holds = [f"regexp_matches(text, ${name})" for name in patterns]
    filled.pieces |= {
        "holds": f"({(' or ' if either else ' and ').join(holds)})",
        "any_of": " || '|' || ".join(f"${name}" for name in patterns),
        "unit": ", text_unit_id",
    }
    filled.pieces["within"] = (
        f"where document_id in (select document_id from corpus.documents where {filled.pieces['holds']})"
    )
    filled.pieces["units"] = (
        "left join (select document_id, arg_min(text_unit_id, position) as text_unit_id\n"
        f"    from corpus.text_chunks where {' or '.join(holds)} group by all) using (document_id)"
    )
    filled.entities = tuple(phrases)
    filled.words["words"] = (" or " if either else " and ").join(f"“{one}”" for one in phrases)
    graph = " (this graph has no texts)" if index.sentences is not None else ""
    filled.words["holding"] = f" whose text contains {filled.words['words']}{graph}"


def is_name(words: str, index: IndexSnapshot) -> bool:
    """Whether words are the whole of a name of the graph, in whatever case."""
    return words.strip().lower() in index.once(_spellings)


def _spellings(index: IndexSnapshot) -> frozenset[str]:
    names = pl.concat([index.entities["title"], index.entities["names"].explode()])
    return frozenset(names.drop_nulls().str.to_lowercase())
