"""Which mentions of a unit are one entity, and what it is called."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from graphrag_dagster.engines.extractive.names import name_wordlists as wordlists
from graphrag_dagster.engines.extractive.names.mention_types import (
    decide_type,
    is_only_labelled,
    votes_for,
    votes_from_lists,
    without_repeated_labels,
)
from graphrag_dagster.engines.extractive.names.name_candidates import NameCandidate
from graphrag_dagster.engines.extractive.parsing import type_lexicon as lexicon
from graphrag_dagster.engines.extractive.parsing.sentence_reading import ReadableText
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import Tokens
from graphrag_dagster.kernel.text.text_similarity import clean, normalise

#: Points per mention: more than the recogniser's label has.
_FAMILY = 4
#: Points of what code imports or installs: more than the recogniser's label has on all mentions.
_MODULE = 12
_SMALL = frozenset({"of", "the", "and", "for", "&", "in", "on"})


@dataclass(slots=True)
class NamedEntity:
    """An entity of one unit: its names are merged, ``mentions`` stand in the order of the text."""

    name: str
    surface: str
    type: str
    mentions: list[NameCandidate]


@dataclass(slots=True)
class _Group:
    """The mentions with the same normalised words."""

    words: list[str]
    mentions: list[NameCandidate] = field(default_factory=list)
    spellings: Counter[str] = field(default_factory=Counter)
    votes: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    weight: int = 0

    @property
    def strong(self) -> bool:
        """Whether the words are an entity of the unit."""
        return self.weight > 1


def name_entities(
    tokens: Tokens, reading: ReadableText, candidates: Sequence[NameCandidate]
) -> list[NamedEntity]:
    """Merge mentions into entities, in the order of first mention.

    Inside the unit, and only where one long form fits: a surname or given name stands for the full name,
    "the Authority" for the authority that ends so, an acronym for the name it was put beside in brackets.
    """
    groups = _group_candidates(tokens, reading, candidates)
    strong = {key: group for key, group in groups.items() if group.strong}
    _add_families(strong.values())
    kinds = {key: decide_type(group.votes) for key, group in groups.items()}
    aliases = _acronyms(tokens, candidates, groups)
    for key, group in groups.items():
        if key not in aliases:
            long = _person(key, group, strong, kinds) or _institution(group, strong, kinds)
            if long:
                aliases[key] = long
    merged: dict[str, list[str]] = defaultdict(list)
    for key in groups:
        target = _follow_links(aliases, key)
        if groups[target].strong:
            merged[target].append(key)
    named = [
        _named_entity(target, [groups[key] for key in keys], groups[target])
        for target, keys in merged.items()
    ]
    return sorted(named, key=lambda entity: entity.mentions[0].first)


def _follow_links(aliases: Mapping[str, str], key: str) -> str:
    seen = {key}
    while key in aliases and aliases[key] not in seen:
        key = aliases[key]
        seen.add(key)
    return key


def _group_candidates(
    tokens: Tokens, reading: ReadableText, candidates: Sequence[NameCandidate]
) -> dict[str, _Group]:
    children: dict[int, list[int]] = defaultdict(list)
    for place, head in enumerate(tokens.heads):
        if head != place:
            children[head].append(place)
    separate = _surnames_by_title(tokens, candidates)
    listed = votes_from_lists(tokens, candidates)
    groups: dict[str, _Group] = {}
    for candidate in candidates:
        spelling = _spelling(tokens, reading, candidate)
        if candidate.title and spelling.lower() in separate.get(candidate.title, ()):
            spelling = f"{candidate.title.capitalize()} {spelling}"
        key = normalise(spelling)
        if not key:
            continue
        group = groups.setdefault(key, _Group(spelling.lower().split()))
        group.mentions.append(candidate)
        group.spellings[spelling] += 1
        group.votes.update(votes_for(tokens, candidate, children))
        group.votes.update(listed.get(candidate.first, ()))
        group.labels.update(filter(None, (candidate.label,)))
        group.weight += candidate.weight
    for group in groups.values():
        group.votes = without_repeated_labels(group.votes, group.labels)
        if " ".join(group.words) in reading.modules:
            group.votes[lexicon.PRODUCT] += _MODULE
    return groups


def _spelling(tokens: Tokens, reading: ReadableText, candidate: NameCandidate) -> str:
    written = reading.text[tokens.begins[candidate.first] : tokens.ends[candidate.last - 1]]
    written = clean(written).replace("’", "'")
    last = written.rsplit(None, 1)[-1] if written else ""
    closes = not tokens.same_sentence(candidate.last - 1, candidate.last)
    if last.endswith(".") and "." not in last[:-1] and (closes or len(last) > 3):
        written = written[:-1]
    words = written.split()
    if written.isupper() and len(words) > 1 and max(map(len, words)) > 4:
        return " ".join(word.capitalize() for word in words)
    return written


def _surnames_by_title(tokens: Tokens, candidates: Iterable[NameCandidate]) -> dict[str, set[str]]:
    """Return, for each title, the surnames that in this unit are told apart by it alone.

    That is so where both Mr X and Mrs X are spoken of, or the one full name in X is of the other sex.
    """
    titles: dict[str, set[str]] = defaultdict(set)
    given: dict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        words = candidate.words(tokens)
        if len(words) == 1 and candidate.title:
            titles[words[0]].add(candidate.title)
        elif len(words) > 1:
            given[words[-1]].add(words[0])
    separate: dict[str, set[str]] = defaultdict(set)
    for surname, used in titles.items():
        for title in used & (wordlists.MALE_TITLES | wordlists.FEMALE_TITLES):
            male = title in wordlists.MALE_TITLES
            own, other = (
                (wordlists.MALE_NAMES, wordlists.FEMALE_NAMES)
                if male
                else (wordlists.FEMALE_NAMES, wordlists.MALE_NAMES)
            )
            against = wordlists.FEMALE_TITLES if male else wordlists.MALE_TITLES
            names = given[surname]
            if used & against or (names & other and not names & own and len(names) == 1):
                separate[title].add(surname)
    return separate


def _acronyms(
    tokens: Tokens, candidates: Sequence[NameCandidate], groups: Mapping[str, _Group]
) -> dict[str, str]:
    """Return short → long for "Long Name (LN)" and "LN (Long Name)"."""
    keys = {id(mention): key for key, group in groups.items() for mention in group.mentions}
    aliases: dict[str, str] = {}
    for left, right in pairwise(candidates):
        if right.first != left.last + 1 or tokens.words[left.last] != "(":
            continue
        for short, long in ((right, left), (left, right)):
            letters = "".join(tokens.words[short.first : short.last])
            if short.last - short.first == 1 and letters.isupper() and _abbreviates(letters, long, tokens):
                aliases[keys[id(short)]] = keys[id(long)]
                groups[keys[id(long)]].weight += 2
    return aliases


def _abbreviates(letters: str, long: NameCandidate, tokens: Tokens) -> bool:
    words = tokens.words[long.first : long.last]
    every = "".join(word[0] for word in words).upper()
    some = "".join(word[0] for word in words if word.lower() not in _SMALL).upper()
    return len(letters) > 1 and letters.upper() in {every, some}


def _person(key: str, group: _Group, strong: Mapping[str, _Group], kinds: Mapping[str, str]) -> str | None:
    """Return the one full name of a person that a surname or given name stands for."""
    if len(group.words) != 1:
        return None
    votes = group.votes
    word = group.words[0]
    people = [
        other for other, found in strong.items()
        if kinds[other] == lexicon.PERSON and len(found.words) > 1
    ]  # fmt: skip
    by_surname = [other for other in people if strong[other].words[-1] == word]
    place = (
        votes[lexicon.GEO] > votes[lexicon.PERSON] + 2 * len(group.mentions) and votes[lexicon.PERSON] <= 0
    )
    if place and by_surname:
        return None
    if by_surname:
        return by_surname[0] if len(by_surname) == 1 else None
    if any(mention.title in wordlists.TITLES for mention in group.mentions):
        return None
    by_given = [other for other in people if word in _given_names(strong[other].words)]
    if len(by_given) != 1:
        return None
    personal = kinds[key] in {lexicon.PERSON, lexicon.CONCEPT}
    return by_given[0] if personal or _is_introduced(group, kinds[key], strong[by_given[0]]) else None


def _is_introduced(group: _Group, kind: str, full: _Group) -> bool:
    """Whether only the recogniser takes a given name for something else, after the full name."""
    after = group.mentions[0].first > full.mentions[0].first
    known = lexicon.MADE | lexicon.PLACES_LIKE_PEOPLE
    return after and group.words[0] not in known and is_only_labelled(kind, group.votes, group.labels)


def _add_families(groups: Iterable[_Group]) -> None:
    """Give a name of two words points for a person where most names with its surname are people."""
    families: dict[str, list[_Group]] = defaultdict(list)
    for group in groups:
        if len(group.words) == 2:
            families[group.words[1]].append(group)
    for surname, family in families.items():
        people = sum(decide_type(group.votes) == lexicon.PERSON for group in family)
        if surname in lexicon.HEADS or not len(family) / 2 < people < len(family):
            continue
        for group in family:
            group.votes[lexicon.PERSON] += _FAMILY * len(group.mentions)


def _given_names(words: Sequence[str]) -> set[str]:
    """The first name, and the nickname that stands in marks before the last."""
    return {words[0], *(word.strip('()"“”«»') for word in words[1:-1] if not word[0].isalnum())}


def _institution(group: _Group, strong: Mapping[str, _Group], kinds: Mapping[str, str]) -> str | None:
    """Return the one longer name that ends with the words of this one, which end in a word like Council."""
    words = group.words
    if words[-1] not in lexicon.HEADS:
        return None
    longer = [
        other
        for other, found in strong.items()
        if len(found.words) > len(words)
        and found.words[-len(words) :] == words
        and kinds[other] not in {lexicon.PERSON, lexicon.CONCEPT}
    ]
    if not longer:
        return None
    longest = max(longer, key=lambda other: (len(strong[other].words), other))
    # "Authority" may end "Harbour Authority" too, if that is the end of the longest itself.
    chain = all(strong[longest].words[-len(strong[other].words) :] == strong[other].words for other in longer)
    return longest if chain else None


def _named_entity(key: str, groups: Sequence[_Group], target: _Group) -> NamedEntity:
    mentions = sorted((m for group in groups for m in group.mentions), key=lambda mention: mention.first)
    votes: Counter[str] = Counter(target.votes)
    for group in groups:
        if group is not target and any(mention.title for mention in group.mentions):
            votes[lexicon.PERSON] += group.votes[lexicon.PERSON]
    order = {spelling: place for place, spelling in enumerate(target.spellings)}
    surface = min(
        target.spellings,
        key=lambda spelling: (spelling.isupper(), -target.spellings[spelling], order[spelling]),
    )
    return NamedEntity(key, surface, decide_type(votes), mentions)
