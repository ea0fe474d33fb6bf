"""The text of RDF made safe and whole for its parser: entities of XML, and contexts of JSON-LD."""

import json
import re
from collections.abc import Iterable, Iterator

from graphrag_dagster.apps.interchange.readers.json.json_lines import parsed
from graphrag_dagster.kernel.documents.files.records import RefusedError, UnreadableError

_DOCTYPE = re.compile(r"<!DOCTYPE\s+[\w:]+\s*(?:\[(?P<inside>[^\]]*)\]\s*)?>")
_ENTITY = re.compile(r"""<!ENTITY\s+([\w.-]+)\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_USED = re.compile(r"&([A-Za-z_][\w.-]*);")
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_LONGEST_ENTITY, _MOST_ENTITIES, _LONGEST_HEAD = 1_000, 1_000, 1_000_000
#: How many times as long the text may become, and how long that is in any case.
_MOST_TIMES, _ALLOWED = 20, 10_000_000
_SCHEMA = re.compile(r"https?://(?:www\.)?schema\.org/?(?:docs/jsonldcontext\.jsonld?)?")
_KNOWN = {"@vocab": "http://schema.org/"}


def without_entities(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the text of RDF/XML without its DOCTYPE, the entities that it declares in their places.

    Protégé writes namespaces as entities: ``<!ENTITY owl "http://www.w3.org/2002/07/owl#">``.

    Raises:
        RefusedError: an entity stands for another, for a file or for very much.
    """
    rest = iter(pieces)
    head = ""
    for piece in rest:
        head += piece
        if re.search(r"<[A-Za-z]", head) or len(head) > _LONGEST_HEAD:
            break
    doctype = _DOCTYPE.search(head)
    if doctype is None and "<!DOCTYPE" in head:
        raise RefusedError(
            "its DOCTYPE declares more than entities that stand for texts, which may be made to fill the "
            "memory or to read other files; remove it"
        )
    entities = _entities(doctype["inside"] or "") if doctype else {}
    if doctype:
        head = head[: doctype.start()] + head[doctype.end() :]
    yield from _replaced([head], rest, entities) if entities else _all(head, rest)


def _all(head: str, rest: Iterator[str]) -> Iterator[str]:
    yield head
    yield from rest


def _entities(inside: str) -> dict[str, str]:
    found = {name: one or other for name, one, other in _ENTITY.findall(inside)}
    left = re.sub(r"<!--.*?-->", "", _ENTITY.sub("", inside), flags=re.DOTALL).strip()
    odd = any("&" in held or "<" in held or len(held) > _LONGEST_ENTITY for held in found.values())
    if left or odd or len(found) > _MOST_ENTITIES:
        raise RefusedError(
            "it declares entities of XML that stand for others, for files or for very much, which may be "
            "made to fill the memory or to read other files; remove them from its DOCTYPE"
        )
    return found


def _replaced(head: list[str], rest: Iterator[str], entities: dict[str, str]) -> Iterator[str]:
    given = made = 0
    held = ""
    for piece in (*head, *()):
        held += piece
    for piece in _with_end(held, rest):
        given += len(piece)
        text = _USED.sub(lambda used: entities.get(used[1], used[0]), piece)
        made += len(text)
        if made > _MOST_TIMES * given + _ALLOWED:
            raise RefusedError("its entities of XML make it many times as long as it is; write them out")
        yield text


def _with_end(first: str, rest: Iterator[str]) -> Iterator[str]:
    """Pieces that do not end within the name of an entity."""
    held = first
    for piece in rest:
        place = held.rfind("&")
        cut = place if place >= 0 and ";" not in held[place:] else len(held)
        yield held[:cut]
        held = held[cut:] + piece
    yield held


def with_known_contexts(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the text of JSON-LD with what schema.org's context says of names, which is fetched from nowhere.

    Raises:
        UnreadableError: not JSON.
    """
    text = "".join(pieces)
    if not re.search(r'"@context"\s*:\s*(?:\[[^\]]*)?"https?://(?:www\.)?schema\.org', text):
        yield text
        return
    try:
        yield json.dumps(_known(parsed(text)), ensure_ascii=False)
    except RecursionError as error:
        raise UnreadableError("JSON that is nested too deeply") from error


def _known(value: object) -> object:
    if isinstance(value, list):
        return [_known(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _context(held) if key == "@context" else _known(held) for key, held in value.items()}


def _context(told: object) -> object:
    if isinstance(told, list):
        return [_context(one) for one in told]
    return _KNOWN if isinstance(told, str) and _SCHEMA.fullmatch(told) else told
