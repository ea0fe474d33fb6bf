"""Whether a sentence of an answer states something that could be checked (English, spec_graphrag §12)."""

import re
from typing import TYPE_CHECKING, Final

from graphrag_dagster.engines.extractive.parsing.lexicon import words_of

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
_JUDGES = words_of(
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
