"""Which labels of a graph's relations the verb of a question means."""

import re
from collections.abc import Mapping, Sequence

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.retrieval.search_words import fold_name, stems_of
from graphrag_dagster.kernel.text.text_similarity import stem
from graphrag_dagster.systems.graphrag.search.sql.slot_values import Filled, Unfit

_AUXILIARIES = frozenset({"is", "are", "was", "were", "be", "been", "has", "have", "had", "the", "a", "an"})
_AGENT = re.compile(r"(?:er|or)\Z")
_WORD = re.compile(r"[^\W_]+")


def labels_named(verb: str, index: IndexSnapshot) -> tuple[list[str], list[str]]:
    """Return the labels from the subject of a verb to its object, and those from the object to the subject.

    Of *direct*, they are ``directs`` and ``directed_by``.
    """
    wanted = [_forms(word) for word in _WORD.findall(fold_name(verb))]
    forwards: list[str] = []
    backwards: list[str] = []
    for label, (forms, passive) in index.once(_read_labels).items():
        if len(forms) == len(wanted) and all(one & other for one, other in zip(forms, wanted, strict=True)):
            (backwards if passive else forwards).append(label)
    return forwards, backwards


def _read_labels(index: IndexSnapshot) -> Mapping[str, tuple[Sequence[frozenset[str]], bool]]:
    """The forms of the words of each label, and whether it leads from what is done to who does it."""
    labels = [] if index.triples is None else sorted(index.triples["relation"].unique())
    return {label: _read_label(label) for label in labels}


def _read_label(label: str) -> tuple[Sequence[frozenset[str]], bool]:
    first, *others = _WORD.findall(fold_name(label)) or [""]
    words = [one for one in (first, *others) if one not in _AUXILIARIES] or [first]
    passive = len(words) > 1 and words[-1] == "by"
    if passive or (words[-1] == "of" and _AGENT.search(words[0])):
        words = words[:-1]
    if len(words) == 1 and _AGENT.search(words[0]) and words[0] != label:
        # "owner_of" leads from who owns, "has_owner" to who does.
        return (_forms(words[0]) | _forms(_AGENT.sub("", words[0])),), passive or first in ("has", "have")
    return [_forms(word) for word in words], passive


def _forms(word: str) -> frozenset[str]:
    # "found" is a verb, and a form of "find".
    return frozenset([stem(word), *stems_of([word])[0]])


def fill_relations(filled: Filled, said: str, index: IndexSnapshot, *, active: bool) -> None:
    """Relations of an imported graph that a verb means.

    Args:
        filled: becomes these.
        said: the verb, which may have a preposition.
        index: with the relations.
        active: whether what is named is the subject of the verb.

    Raises:
        Unfit: the verb is no relation, or the relations were read from texts, so that some may be missing.
    """
    forwards, backwards = labels_named(said, index)
    imported = index.statements is not None and not index.statements.is_empty()
    if not forwards and not backwards:
        if not imported or not active:
            raise Unfit("the question has the form of no template", 0)
        filled.absent = said
    elif not imported:
        raise Unfit("relations that were read from texts are not counted, as some may be missing", 3)
    filled.parameters["out"], filled.parameters["in"] = (
        (forwards, backwards) if active else (backwards, forwards)
    )
    filled.words["relation"] = ", ".join(f"“{one}”" for one in (*forwards, *backwards))
