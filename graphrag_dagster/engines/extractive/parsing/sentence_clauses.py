"""Clauses of a parsed sentence, and whether one states something that can be checked (English).

Cut off are coordinated clauses, coordinated verbs that share a subject, which is repeated, contrasts
("while …") and relative clauses after a comma, in which the pronoun gives way to the noun. Where a cut could
change what is said (alternatives, negated subjects, open quotation marks) the sentence stays whole.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphrag_dagster.kernel.text.english_words import word_set

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


SUBJECTS: Final = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
HELPERS: Final = frozenset({"aux", "auxpass"})
_FINITE = frozenset({"VBD", "VBZ", "VBP", "MD"})
_NAMES = frozenset({"NNP", "NNPS", "CD"})
_NUMBER = re.compile(r"\d")

_LINKS = (
    r"however|but|and|so|yet|also|additionally|furthermore|moreover|therefore|thus|hence|consequently"
    r"|nevertheless|nonetheless|instead|similarly|likewise|finally|meanwhile|interestingly|notably|unfortunately"
    r"|overall|ultimately|yes|no|in addition|in contrast|by contrast|on the other hand|as a result|in fact"
    r"|in other words|for example|for instance|in conclusion|in summary|in short|to summari[sz]e|to sum up"
)
#: Words at the beginning that only tie a sentence to the one before it.
LINK: Final = re.compile(rf"\A(?:(?:{_LINKS}),\s+)+", re.IGNORECASE)
_FRAME = re.compile(
    r"(?:(?:it(?:'s|’s| is) (?:also )?(?:important|worth|essential|crucial|necessary|interesting|useful"
    r"|notable|worthwhile|noteworthy)"
    r"(?: (?:to (?:note|remember|mention|recogni[sz]e|understand|consider|know|add)|noting|mentioning"
    r"|remembering))?"
    r"|(?:please )?(?:note|remember|keep in mind)) that)\s+(?=\S)",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"(?:in (?:conclusion|summary|short|essence)|to (?:conclude|summari[sz]e|sum up)|overall|ultimately"
    r"|all in all|taken together|together|collectively|thus|therefore)\b",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(
    r"(?:here (?:is|are)\b|below (?:is|are)\b|as follows\b|let us\b|let's\b"
    r"|the following\b(?! (?:\w+ )?(?:year|month|week|day|night|morning|evening|decade|century|season)s?\b)"
    r"|this (?:answer|response|summary|section|overview|analysis)\b)",
    re.IGNORECASE,
)
_MATERIAL = (
    r"(?:data(?:set|sets| tables)?|reports?|context|texts?|sources?|information|documents?|material|records?"
    r"|articles?|passages?|evidence)"
)
_MISSING = re.compile(
    rf"\b{_MATERIAL} (?:(?:that|which) \w+ \w+ )?(?:available |provided |given |retrieved )?"
    r"(?:(?:do|does|did) not|don't|doesn't|cannot|can't) (?:\w+ )?"
    r"(?:contain|provide|mention|specify|include|say|state|give|offer|describe|address|detail|indicate|reveal"
    r"|answer|discuss|cover|support)"
    rf"|\b(?:there (?:is|are|was|were)|{_MATERIAL} \w+|i have|we have)"
    rf" (?:no|not enough|insufficient|little|limited) (?:\w+ ){{0,3}}?{_MATERIAL}\b"
    r"|\b(?:no|not enough|insufficient) (?:\w+ ){0,2}?(?:information|data|details) (?:is|are|was|were|to)\b"
    r"|\bnot (?:\w+ )?(?:mentioned|specified|stated|provided|given|described|discussed|available|included"
    rf"|covered) (?:in|by) (?:the|these|this|any) (?:\w+ )?{_MATERIAL}"
    r"|\b(?:(?:is|are|remains?) (?:unclear|unknown|uncertain)|(?:is|are) not (?:clear|known|certain))\b"
    r"|\bno mention\b|\b(?:cannot|can't|could not) be (?:determined|answered|verified|confirmed)\b",
    re.IGNORECASE,
)
_ADVISES = re.compile(
    r"\b(?:it(?: is|'s|’s) (?:\w+ )?(?:best|important|essential|crucial|vital|necessary|better|wise)"
    r"(?: for \w+)? to\b|(?:is|are) (?:\w+ )?(?:advisable|advised|recommended|encouraged) to\b"
    r"|(?:you|we|one|readers?) (?:\w+ )?(?:must|need to|have to|ought to|should)\b)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[“\"][^”\"]*[”\"]")
_AUTHOR = re.compile(r"\bas an? (?:(?:ai|large|language)\b(?: \w+){0,3}|assistant), i\b", re.IGNORECASE)
_QUESTION = re.compile(r"[?？][\"'”’)\]]*\Z")
_JUDGES = word_set(
    """
    admirable amazing beautiful best better brilliant challenging compelling complex critical crucial
    difficult essential evident exciting extraordinary fascinating good great helpful ideal impactful
    imperative important impressive inspiring interesting invaluable key meaningful multifaceted necessary
    nuanced paramount pivotal powerful profound remarkable rich significant subjective unforgettable useful
    valuable vital wonderful worthwhile
    """
)
_GUESSES = frozenset({"may", "might", "could", "would"})


def refused_words(sentence: str) -> str | None:
    """Return why the words of a sentence show that it states nothing to check, else None."""
    bare = LINK.sub("", sentence, count=1)
    own = _QUOTED.sub('""', sentence)
    if _QUESTION.search(sentence):
        return "a question"
    if sentence.endswith(":") or _ANNOUNCES.match(bare):
        return "an announcement of what follows"
    if _AUTHOR.search(own):
        return "speaks of its author"
    if _MISSING.search(own):
        return "says what is not known or not given"
    return "advice" if _ADVISES.search(own) else None


def without_frame(sentence: str) -> str:
    """Return a sentence without an opening such as "It is important to note that".

    >>> without_frame("It is worth noting that the quay burnt.")
    'The quay burnt.'
    """
    bare = LINK.sub("", sentence, count=1)
    frame = _FRAME.match(bare)
    return bare[frame.end() :][:1].upper() + bare[frame.end() + 1 :] if frame else sentence


def refused_grammar(doc: "Doc") -> str | None:
    """Return why a parsed sentence states nothing to check, else None.

    Kept are statements with a subject and a finite verb that have a name or a number, tell of the past, or
    describe something without judging or guessing.
    """
    root = root_of(doc)
    subject = next((child for child in root.children if child.dep_ in SUBJECTS), None)
    helpers = [child for child in root.children if child.dep_ in HELPERS]
    if subject is None:
        if root.tag_ == "VB" and not helpers:
            return "advice"
        return None if _is_short_past(root) and _is_specific(doc) else "no statement"
    # Taggers take regular past tenses for participles.
    if not _FINITE.union({"VBN"}).intersection(token.tag_ for token in (root, *helpers)):
        return "no statement"
    if subject.lower_ in {"i", "we"} and doc.text.count('"') < 2:
        return "speaks of its author"
    modals = {helper.lower_ for helper in helpers if helper.tag_ == "MD"}
    if modals & {"should", "ought"} or subject.lower_ == "you":
        return "advice"
    return None if _is_specific(doc) else _refused_general(doc, root, modals)


def _is_short_past(root: "Token") -> bool:
    """Whether a parser may have taken a past tense for a participle: "The quay burnt in 2017."."""
    ended = root.doc[-1].tag_ == "."
    return ended and any(child.dep_ == "acl" and child.tag_ == "VBN" for child in root.children)


def _is_specific(doc: "Doc") -> bool:
    """Whether a sentence has a name or a number."""
    return any(token.tag_ in _NAMES or _NUMBER.search(token.text) for token in doc)


def _refused_general(doc: "Doc", root: "Token", modals: set[str]) -> str | None:
    if _CONCLUDES.match(doc.text):
        return "a conclusion without name or number"
    if modals & _GUESSES:
        return "a guess without name or number"
    tense = next((child.tag_ for child in root.children if child.dep_ in HELPERS), root.tag_)
    judged = any(token.lower_ in _JUDGES and token.tag_.startswith("JJ") for token in doc)
    if tense not in {"VBD", "VBN"} and judged:
        return "a judgement without name or number"
    return None


def root_of(doc: "Doc") -> "Token":
    """Return the head word of a document that is one sentence."""
    return next(token for token in doc if token.head.i == token.i)


_VERBS: Final = _FINITE | {"VB", "VBN", "VBG"}
_CONTRASTS = frozenset({"while", "whereas", "although", "though"})
_ALTERNATIVES = frozenset({"or", "nor"})
_NEGATIVE = word_set("no nobody none neither nothing few little hardly")
# With these, "which" means as a rule all that was said before, and not the noun next to it.
_ABOUT_IT_ALL = word_set(
    """
    allow allows allowed cause causes caused contribute contributes contributed demonstrate demonstrates
    enable enables enabled explain explains explained gave give gives help helps helped highlight highlights
    highlighted indicate indicates indicated lead leads led made make makes mean means meant reflect
    reflects reflected result results resulted show shows showed suggest suggests suggested underscore
    underscores underscored
    """
)
_SPACED = re.compile(r"\s+([,.;:!?)\]])")
_EDGES = " ,;:–—-"
_LOOSE = re.compile(r"[\s,;:–—-]+(?=[.!?]\Z)")
_END = re.compile(r"[.!?…][\"'”’)\]]*\Z")
_FEWEST_WORDS = 3


@dataclass(slots=True)
class _Clause:
    """What its verb's clause is told with: ``repeats`` says that ``subject`` and ``helpers`` are those of the
    clause above and are said again; the words at the places ``silent`` are left out.
    """

    subject: "Token | None"
    helpers: "tuple[Token, ...]" = ()
    repeats: bool = False
    silent: "set[int]" = field(default_factory=set)


def split_clauses(doc: "Doc") -> tuple[str, ...]:
    """Return the clauses of a sentence in its order, each as a sentence; one where it cannot be split."""
    clauses = _clauses(doc)
    written = [_clause_text(words) for words in _words_of_clauses(doc, clauses)] if len(clauses) > 1 else []
    sound = all(len(one.split()) >= _FEWEST_WORDS and _is_balanced(one) for one in written)
    if written and sound:
        return tuple(dict.fromkeys(written))
    return (_as_sentence(doc.text),)


def _clauses(doc: "Doc") -> "dict[int, _Clause]":
    """Return the clauses by the place of their verbs; those above come first."""
    root = root_of(doc)
    subject = _child(root, SUBJECTS)
    clauses = {root.i: _Clause(subject, _helpers(root))}
    if subject is None:
        return clauses
    waiting = deque([root])
    while waiting:
        token = waiting.popleft()
        made = _open_clause(token, clauses)
        if made:
            clauses[token.i] = made
        waiting.extend(token.children)
    return clauses


def _open_clause(token: "Token", clauses: "dict[int, _Clause]") -> _Clause | None:
    above = clauses.get(token.head.i)
    if token.dep_ == "relcl":
        return _relative_clause(token)
    if above is None or token.tag_ not in _VERBS or token.i == token.head.i:
        return None
    if token.dep_ == "conj":
        return _joined_clause(token, above)
    own = _child(token, SUBJECTS)
    if own is None or not _is_finite(token):
        return None
    if token.dep_ == "advcl":
        mark = _child(token, {"mark"})
        contrast = mark is not None and mark.lower_ in _CONTRASTS and mark.i == token.left_edge.i
        return _Clause(own, _helpers(token), silent={mark.i}) if mark is not None and contrast else None
    after = token.right_edge.i + 1
    apart = token.dep_ == "ccomp" and after < len(token.doc) and token.doc[after].text == ";"
    return _Clause(own, _helpers(token)) if apart else None


def _joined_clause(token: "Token", above: _Clause) -> _Clause | None:
    """A clause joined to the one above, with a subject of its own or with that one's."""
    head = token.head
    between = [child for child in head.children if child.dep_ in {"cc", "preconj"} and child.i < token.i]
    joints = _joints(token)
    if any(word.lower_ in _ALTERNATIVES or word.dep_ == "preconj" for word in (*between, *joints)):
        return None
    silent = {word.i for word in (*between[-1:], *joints)}
    own = _child(token, SUBJECTS)
    if own is not None:
        return _Clause(own, _helpers(token), silent=silent) if _is_finite(token) else None
    if above.subject is None or any(word.lower_ in _NEGATIVE for word in above.subject.subtree):
        return None
    if not _has_own_content(head, token):
        return None
    if _is_finite(token):
        return _Clause(above.subject, (), repeats=True, silent=silent)
    shares = token.tag_ == head.tag_ and above.helpers and not _child(token, HELPERS)
    if not shares or _child(head, {"neg"}) is not None or _child(head, {"mark"}) is not None:
        return None
    return _Clause(above.subject, above.helpers, repeats=True, silent=silent)


def _joints(token: "Token") -> "list[Token]":
    """The commas and conjunctions right before a clause, whatever the parser hung them on."""
    first = token.left_edge.i
    start = first
    while start and (token.doc[start - 1].tag_ == "CC" or token.doc[start - 1].text in {",", ";"}):
        start -= 1
    return list(token.doc[start:first])


def _has_own_content(head: "Token", token: "Token") -> bool:
    """Whether the first of two verbs has something of its own: "designed and built the ship" is one deed."""
    between = head.doc[head.i + 1 : token.left_edge.i]
    return any(word.dep_ not in {"cc", "punct", "advmod", "neg"} for word in between)


def _relative_clause(token: "Token") -> _Clause | None:
    """A clause about the noun before its comma; the noun stands in for the pronoun."""
    pronoun, noun = _child(token, {"nsubj", "nsubjpass"}), token.head
    if pronoun is None or pronoun.lower_ not in {"who", "which"} or pronoun.i != token.left_edge.i:
        return None
    before = pronoun.i - 1
    if before <= 0 or token.doc[before].text != "," or not _is_finite(token):
        return None
    noun = next((child for child in noun.children if _is_renamed_by(child, before)), noun)
    if pronoun.lower_ == "which":
        if noun.dep_ == "pobj":
            return None
        plural = {"VBZ": False, "VBP": True}.get(_finite_word(token).tag_)
        agrees = plural is None or plural == (noun.tag_ in {"NNS", "NNPS"})
        if not agrees or token.lower_ in _ABOUT_IT_ALL:
            return None
    after = token.right_edge.i + 1
    commas = {place for place in (before, after) if place < len(token.doc) and token.doc[place].text == ","}
    return _Clause(noun, (), repeats=True, silent={pronoun.i, *commas})


def _is_renamed_by(child: "Token", end: int) -> bool:
    """Whether a noun is named anew right before a place: "one president, Barack Obama, who …"."""
    return child.dep_ == "appos" and child.right_edge.i == end - 1


def _words_of_clauses(doc: "Doc", clauses: "dict[int, _Clause]") -> "Iterator[list[Token]]":
    owner = _owners(doc, clauses)
    silent = set().union(*(clause.silent for clause in clauses.values()))
    for verb in sorted(clauses, key=lambda place: _first_word(doc, place, owner)):
        clause = clauses[verb]
        own = [token for token in doc if owner[token.i] == verb and token.i not in silent]
        again = list(_phrase(clause.subject, owner, silent)) if clause.repeats and clause.subject else []
        yield [*again, *(clause.helpers if clause.repeats else ()), *own]


def _first_word(doc: "Doc", verb: int, owner: "Sequence[int]") -> int:
    return next(token.i for token in doc if owner[token.i] == verb)


def _owners(doc: "Doc", clauses: "dict[int, _Clause]") -> list[int]:
    """Return for each word the verb of the clause it belongs to."""
    owner = [-1] * len(doc)
    for verb in clauses:
        for token in doc[verb].subtree:
            owner[token.i] = verb
    root = next(iter(clauses))
    return [root if one < 0 else one for one in owner]


def _phrase(noun: "Token", owner: "Sequence[int]", silent: "set[int]") -> "Iterator[Token]":
    """Yield the words of a noun phrase without what is said of it in passing."""
    passing = {
        word.i
        for child in noun.children
        if child.dep_ == "appos" and _after_comma(child)
        for word in child.subtree
    }
    words = [
        token
        for token in noun.subtree
        if owner[token.i] == owner[noun.i] and token.i not in passing and token.i not in silent
    ]
    while words and words[-1].dep_ in {"punct", "cc"}:
        words.pop()
    yield from words


def _after_comma(token: "Token") -> bool:
    before = token.left_edge.i - 1
    return before >= 0 and token.doc[before].text in {",", "(", "–", "—"}


def _child(token: "Token", labels: Iterable[str]) -> "Token | None":
    return next((child for child in token.children if child.dep_ in labels), None)


def _helpers(token: "Token") -> "tuple[Token, ...]":
    return tuple(child for child in token.children if child.dep_ in HELPERS and child.i < token.i)


def _finite_word(token: "Token") -> "Token":
    return next(iter(_helpers(token)), token)


def _is_finite(token: "Token") -> bool:
    finite = _finite_word(token)
    # Taggers take regular past tenses for participles; without a helper, one with a subject is none.
    past = finite is token and token.tag_ == "VBN" and _child(token, SUBJECTS) is not None
    return past or finite.tag_ in _FINITE


def _clause_text(words: "Sequence[Token]") -> str:
    parts = []
    for place, token in enumerate(words):
        following = words[place + 1].i if place + 1 < len(words) else token.i
        parts.append(token.text + (token.whitespace_ if following == token.i + 1 else " "))
    return _as_sentence(_LOOSE.sub("", _SPACED.sub(r"\1", "".join(parts)).strip()))


def _as_sentence(text: str) -> str:
    bare = LINK.sub("", " ".join(text.split()).strip(_EDGES), count=1).strip(_EDGES)
    return bare[:1].upper() + bare[1:] + ("" if _END.search(bare) else ".")


def _is_balanced(text: str) -> bool:
    return text.count('"') % 2 == 0 and all(
        text.count(opening) == text.count(closing) for opening, closing in ("()", "[]", "“”")
    )
