"""The entity type of a mention: the recogniser's label, corrected by the words in and around it."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from graphrag_dagster.engines.extractive.names import name_wordlists as wordlists
from graphrag_dagster.engines.extractive.names.name_candidates import NameCandidate
from graphrag_dagster.engines.extractive.parsing import type_lexicon as lexicon
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import Tokens

# Certain: a title, or the last word of the name. Strong: a noun that says what it is. Firm: what outweighs
# the recogniser's label. Weak: its company.
_CERTAIN, _STRONG, _FIRM, _LABEL, _WEAK = 100, 20, 4, 3, 2
_LABELS_COUNTED = 3
_AGENTS = ("er", "or", "ist", "man", "woman", "ian", "eer", "ant", "ress")
_COPULAS = frozenset({"is", "was", "are", "were", "'s", "’s"})
_NO_DEEDS = frozenset({"was", "were", "had", "became", "did", "happened", "began", "remained", "seemed"})
_INNER_CAPITAL = re.compile(r"[^\W\d_]\w*[a-z][A-Z]|\A[a-z][A-Z]")
_NUMERAL = re.compile(r"[ivx]+|\d+|one|two|three|four")
_SURNAME_WITH_CAPITAL = re.compile(r"(?:Mac|Mc|O['’]|D['’]|Fitz|De|La|Le|Van|Di|Du)[A-Z]")
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_LISTED = frozenset({"conj", "appos"})
#: Software that is called by the file it is ("Node.js").
_FILE_ENDING = re.compile(r"\w\.(?:js|py|net|NET|rs|io)\Z")
_VERSION = re.compile(r"v?\d{1,2}(?:\.\d{1,2})+")
#: Terms of up to so many letters that are written like names are names: Nat, Ram.
_SHORT_TERM = 3


def root_of(tokens: Tokens, first: int, last: int) -> int:
    """Return the word that the others hang on."""
    for place in range(last - 1, first - 1, -1):
        if not first <= tokens.heads[place] < last or tokens.heads[place] == place:
            return place
    return last - 1


def votes_for(tokens: Tokens, candidate: NameCandidate, children: dict[int, list[int]]) -> Counter[str]:
    """Return points for each type that one mention may have; negative points speak against."""
    votes: Counter[str] = Counter()
    words = candidate.words(tokens)
    if candidate.label:
        votes[candidate.label] += _LABEL - (candidate.label == lexicon.ORGANIZATION and len(words) == 2)
    if candidate.title:
        votes[lexicon.PERSON] += _CERTAIN if candidate.title in wordlists.TITLES else _STRONG
    if words[-1] in lexicon.HOLIDAYS:
        votes[lexicon.EVENT] += _CERTAIN
    if _is_speaker(tokens, candidate):
        votes[lexicon.PERSON] += _STRONG
    inner = _type_from_words(words)
    surname = candidate.label == lexicon.PERSON and len(words) == 2 and words[-1] in lexicon.SURNAMES
    if inner and not surname:
        votes[inner] += _CERTAIN
    if len(words) == 1:
        votes.update(_from_shape(tokens.words[candidate.first]))
    votes.update(_from_known_names(tokens.words[candidate.first : candidate.last], candidate.label))
    root = root_of(tokens, candidate.first, candidate.last)
    votes.update(_from_word_before(tokens, candidate))
    votes.update(_from_words_after(tokens, candidate))
    votes.update(_from_description(tokens, root, candidate, children))
    if len(words) == 2 and words[0] in wordlists.MALE_NAMES | wordlists.FEMALE_NAMES:
        votes[lexicon.PERSON] += _LABEL
    # Names of women are names of places too: Florence, Victoria, Charlotte.
    other = candidate.label not in {None, lexicon.PERSON, lexicon.GEO}
    if other and len(words) == 1 and words[0] in wordlists.MALE_NAMES:
        votes[lexicon.PERSON] += _FIRM
    votes[lexicon.PERSON] += _is_acting_person(tokens, root, candidate)
    votes.update(_from_verb(tokens, root, len(words), votes[lexicon.PERSON] >= 0))
    return votes


def without_repeated_labels(votes: Counter[str], labels: Counter[str]) -> Counter[str]:
    """Return the points less what the recogniser says of a name more than three times.

    It errs alike on all mentions of a name, so that more of them say no more.
    """
    over = {kind: _LABEL * max(0, times - _LABELS_COUNTED) for kind, times in labels.items()}
    return Counter({kind: points - over.get(kind, 0) for kind, points in votes.items()})


def is_only_labelled(kind: str, votes: Counter[str], labels: Counter[str]) -> bool:
    """Whether nothing but the recogniser speaks for a type."""
    return votes[kind] <= _LABEL * min(labels[kind], _LABELS_COUNTED)


def decide_type(votes: Counter[str]) -> str:
    """Return the type with the most points above zero, else CONCEPT."""
    best = min(votes, key=lambda kind: (-votes[kind], kind), default=lexicon.CONCEPT)
    return best if votes[best] > 0 else lexicon.CONCEPT


def votes_from_lists(tokens: Tokens, candidates: Sequence[NameCandidate]) -> dict[int, Counter[str]]:
    """Return points by first word for what stands in a list of names whose kind most of the others have."""
    by_root = {root_of(tokens, one.first, one.last): one for one in candidates}
    chains: dict[int, list[NameCandidate]] = defaultdict(list)
    for root, candidate in by_root.items():
        top = root
        while tokens.deps[top] in _LISTED and tokens.heads[top] in by_root:
            top = tokens.heads[top]
        chains[top].append(candidate)
    points: dict[int, Counter[str]] = {}
    for chain in chains.values():
        labels = Counter(one.label for one in chain if one.label)
        kind, times = min(labels.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
        if times > 1 and times * 2 > len(chain):
            points |= {one.first: Counter({kind: _FIRM}) for one in chain}
    return points


def _type_from_words(words: list[str]) -> str | None:
    """The type that the words of the name themselves give: "Bank of X", "Lake Y", "Z Council"."""
    if len(words) < 2:
        return None
    joint = next((place for place, word in enumerate(words[:-1]) if place and word in {"of", "for"}), None)
    if joint:
        head = words[joint - 1]
        if head in lexicon.NOBLES:
            return lexicon.PERSON
        if head == "house":
            return lexicon.ORGANIZATION
        if head in lexicon.HEADS:
            return lexicon.HEADS[head]
    numbered = len(words) > 2 and _NUMERAL.fullmatch(words[-1]) is not None
    last = lexicon.HEADS.get(words[-2 if numbered else -1].rstrip("."))
    if words[0] in lexicon.FIRST_WORDS and last != lexicon.ORGANIZATION:
        return lexicon.FIRST_WORDS[words[0]]
    if lexicon.HEADS.get(words[0]) == lexicon.LAW and any(char.isdigit() for char in words[-1]):
        return lexicon.LAW
    return last


def _from_known_names(words: Sequence[str], label: str | None) -> Counter[str]:
    """Points from products, companies and terms that the name is, or begins or ends with."""
    small = [word.lower() for word in words]
    if len(words) == 1:
        if small[0] in lexicon.KNOWN_PRODUCTS:
            return Counter({lexicon.PRODUCT: 2 * _FIRM})
        return Counter({lexicon.ORGANIZATION: 2 * _FIRM} if small[0] in lexicon.KNOWN_COMPANIES else {})
    if all(map(_is_term, words)):
        return Counter({lexicon.CONCEPT: _CERTAIN})
    if _is_term(words[0]) and lexicon.HEADS.get(small[-1]) == lexicon.GEO:
        return Counter({lexicon.CONCEPT: 2 * _CERTAIN})
    if small[-1] in lexicon.HEADS or label not in {None, lexicon.PERSON, lexicon.GEO, lexicon.ORGANIZATION}:
        return Counter()
    if small[0] in lexicon.KNOWN_PRODUCTS:
        return Counter({lexicon.PRODUCT: _FIRM})
    # "Microsoft Research" is a body where the recogniser says so, "Google Cloud Run" is no person.
    made = label != lexicon.ORGANIZATION and not lexicon.MADE.isdisjoint(small)
    kind = label in {None, lexicon.PERSON} and not lexicon.PRODUCT_WORDS.isdisjoint(small)
    return Counter({lexicon.PRODUCT: _FIRM} if made or kind else {})


def _is_term(word: str) -> bool:
    """Whether a word is a term, by itself, in the plural or with a version ("APIs", "HTTP/1.1")."""
    if word.istitle() and len(word) <= _SHORT_TERM:
        return False
    small = word.lower()
    return not lexicon.TERMS.isdisjoint({small, small.removesuffix("s"), small.partition("/")[0]})


def _from_shape(word: str) -> Counter[str]:
    """Points from the spelling of a single word: acronyms, inner capitals and digits."""
    votes: Counter[str] = Counter()
    not_a_place = {lexicon.GEO: -_STRONG, lexicon.PERSON: -_STRONG, lexicon.EVENT: -_STRONG}
    if word.replace(".", "") in lexicon.PLACE_ACRONYMS:
        votes[lexicon.GEO] += 2 * _LABEL
    elif _is_term(word):
        votes[lexicon.CONCEPT] += _CERTAIN
    elif word.isupper() and len(word) > 1:
        if "." not in word:
            votes.update(not_a_place)
    elif _INNER_CAPITAL.search(word) and not _SURNAME_WITH_CAPITAL.match(word):
        votes.update(not_a_place)
        if word.endswith(lexicon.CODE_ENDINGS):
            votes[lexicon.CONCEPT] += _STRONG
        votes[lexicon.ORGANIZATION] += 1
    if word.islower() or _FILE_ENDING.search(word):
        votes[lexicon.PRODUCT] += _LABEL + 1
    if word[0].isdigit():
        # "18F" acts as a body does.
        votes[lexicon.ORGANIZATION] += _LABEL
    elif any(map(str.isdigit, word)):
        votes.update(not_a_place)
        votes[lexicon.PRODUCT] += _LABEL + 1
    return votes


def _is_speaker(tokens: Tokens, candidate: NameCandidate) -> bool:
    """Whether the name is a label before what somebody says ("Kevin Scott: Right.")."""
    return (
        candidate.last - candidate.first > 1
        and not tokens.same_sentence(candidate.first - 1, candidate.first)
        and tokens.same_sentence(candidate.last, candidate.first)
        and tokens.words[candidate.last] == ":"
    )


def _from_word_before(tokens: Tokens, candidate: NameCandidate) -> Counter[str]:
    """Points from "the", from a noun that says what follows, and from prepositions of place."""
    place = candidate.first - 1
    if not tokens.same_sentence(place, candidate.first):
        return Counter()
    before = tokens.words[place].lower()
    noun = tokens.words[place - 1].lower() if tokens.same_sentence(place - 1, place) else ""
    if before == "of" and noun in wordlists.PLACES_OF:
        return Counter({lexicon.GEO: _STRONG})
    if before == "the":
        own = candidate.first <= tokens.heads[place] < candidate.last
        # "The" before what looks like the name of a person: as a rule a ship.
        ship = own and candidate.last - candidate.first == 2 and _looks_personal(tokens, candidate)
        return Counter({lexicon.PERSON: -_STRONG * own, lexicon.VESSEL: _WEAK * ship})
    if before == "by":
        return _from_maker(noun)
    if before in lexicon.KINDS and not tokens.tags[place].startswith("VB"):
        return Counter({lexicon.KINDS[before]: _STRONG})
    if len(before) > 5 and before.endswith(_AGENTS) and tokens.tags[place] == "NN":
        return Counter({lexicon.PERSON: 2 * _LABEL})
    if before in wordlists.PLACING and candidate.last - candidate.first <= 2:
        # People are not "in"; programs and companies may be.
        return Counter({lexicon.GEO: _FIRM if candidate.label == lexicon.PERSON else _WEAK})
    return Counter()


def _from_maker(deed: str) -> Counter[str]:
    """Points from what was done by the named: "directed by X", "published by Y"."""
    if deed in wordlists.BY_PEOPLE:
        return Counter({lexicon.PERSON: _LABEL})
    return Counter({lexicon.ORGANIZATION: _LABEL} if deed in wordlists.BY_BODIES else {})


def _from_words_after(tokens: Tokens, candidate: NameCandidate) -> Counter[str]:
    """Points from "(born 1871)", a noun for a place or a product, and the country after a comma."""
    last = candidate.last
    if tokens.same_sentence(last - 1, last):
        after = tokens.words[last]
        if after in wordlists.PLACES_AFTER:
            return Counter({lexicon.GEO: _FIRM})
        part = after in lexicon.OF_PRODUCTS and tokens.deps[last - 1] == "compound"
        version = candidate.last - candidate.first == 1 and _VERSION.fullmatch(after)
        if part or version:
            surer = part and candidate.label == lexicon.ORGANIZATION
            return Counter(
                {lexicon.PRODUCT: _LABEL if surer else _FIRM, lexicon.PERSON: -_FIRM, lexicon.GEO: -_FIRM}
            )
    if not tokens.same_sentence(last - 1, last + 1):
        return Counter()
    mark, word = tokens.words[last], tokens.words[last + 1].lower()
    if mark == "(" and word in {"born", "b.", "d.", "died"}:
        return Counter({lexicon.PERSON: _STRONG})
    if mark == "," and tokens.labels[last + 1] == "GPE" and tokens.deps[last + 1] in {"appos", "npadvmod"}:
        return Counter({lexicon.GEO: _FIRM})
    return Counter()


def _is_acting_person(tokens: Tokens, root: int, candidate: NameCandidate) -> bool:
    """Whether an unlabelled name of two words is the subject of a deed, as people mostly are."""
    head = tokens.heads[root]
    return (
        candidate.label is None
        and candidate.last - candidate.first == 2
        and tokens.deps[root] == "nsubj"
        and tokens.tags[head] == "VBD"
        and tokens.words[head].lower() not in _NO_DEEDS
    )


def _looks_personal(tokens: Tokens, candidate: NameCandidate) -> bool:
    first = tokens.words[candidate.first].lower()
    known = lexicon.NOBLES | wordlists.MALE_NAMES | wordlists.FEMALE_NAMES
    return candidate.label == lexicon.PERSON or (candidate.label is None and first in known)


def _is_spoken_to(tokens: Tokens, candidate: NameCandidate) -> bool:
    """Whether a given name after a comma is that of a listener ("Welcome to the show, William")."""
    word = tokens.words[candidate.first].lower()
    single = candidate.last - candidate.first == 1
    return single and word in wordlists.MALE_NAMES | wordlists.FEMALE_NAMES


def _from_description(
    tokens: Tokens, root: int, candidate: NameCandidate, children: dict[int, list[int]]
) -> Counter[str]:
    """Points from appositions ("X, a town"), copulas ("X is a ship") and relative pronouns."""
    votes: Counter[str] = Counter()
    outside = [child for child in children.get(root, ()) if not candidate.first <= child < candidate.last]
    nouns = [child for child in outside if tokens.deps[child] == "appos"]
    head, dep = tokens.heads[root], tokens.deps[root]
    if dep == "nsubj" and tokens.words[head].lower() in _COPULAS:
        nouns += [child for child in children.get(head, ()) if tokens.deps[child] == "attr"]
    elif dep == "attr" and tokens.words[head].lower() in _COPULAS:
        nouns += [child for child in children.get(head, ()) if tokens.deps[child] == "nsubj"]
    elif dep == "appos" and tokens.words[head].islower() and not _is_spoken_to(tokens, candidate):
        nouns.append(head)
    for noun in nouns:
        kind = lexicon.KINDS.get(tokens.words[noun].lower())
        if kind:
            votes[kind] += _STRONG
    for child in outside:
        if tokens.deps[child] == "relcl":
            pronouns = {tokens.words[at].lower() for at in children.get(child, ())}
            who = bool(pronouns & {"who", "whom"})
            votes[lexicon.PERSON] += _STRONG * (who - ("which" in pronouns))
    return votes


def _from_verb(tokens: Tokens, root: int, length: int, may_be_person: bool) -> Counter[str]:
    """Points from what the named thing does or has done to it."""
    votes: Counter[str] = Counter()
    verb, dep = tokens.words[tokens.heads[root]].lower(), tokens.deps[root]
    does, done = dep in _SUBJECTS, dep in {"dobj", "dative", "nsubjpass"}
    acts = (does and verb in wordlists.SPEECH) or (done and verb in wordlists.ADDRESSED)
    if may_be_person and acts:
        votes[lexicon.PERSON] += _LABEL if length == 2 else 1
    if (done and verb in wordlists.USED) or (dep == "pobj" and verb in wordlists.USED_BY_WAY_OF):
        votes.update({lexicon.PRODUCT: _LABEL, lexicon.PERSON: -_LABEL, lexicon.GEO: -_LABEL})
    if done and verb in wordlists.FOUNDED:
        votes[lexicon.ORGANIZATION] += _LABEL + 1
    if (does and verb in wordlists.SAILS) or ((done or dep == "pobj") and verb in wordlists.SAILED):
        votes[lexicon.VESSEL] += _WEAK if may_be_person else _STRONG
    return votes
