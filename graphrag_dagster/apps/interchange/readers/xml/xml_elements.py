"""Nodes and edges in XML of any size, element by element."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import BinaryIO
from xml.parsers import expat

from graphrag_dagster.apps.interchange.readers.batches import ROWS, Account, Batch
from graphrag_dagster.apps.interchange.readers.elements import Element, batches_of
from graphrag_dagster.apps.interchange.readers.tabular.cells import LONGEST_TEXT
from graphrag_dagster.apps.interchange.readers.tabular.columns import GUESSED, GraphColumns
from graphrag_dagster.kernel.documents.files.records import RefusedError, UnreadableError, clean

_PIECE, _MOST_CHARACTERS = 1 << 18, 1 << 25
_MOST_LEVELS = 200


class XmlReader(ABC):
    """What the parser tells of; finished nodes and edges are taken away in batches.

    A reader of a format says what its elements mean by :meth:`begin` and :meth:`end`.
    """

    #: The outermost element, and what the format is called.
    root = format = ""
    #: Whether edges are directed that do not say.
    directed = True

    def __init__(self, account: Account) -> None:
        self.account = account
        self.elements: list[Element] = []
        #: Characters of the texts of these.
        self.size = 0
        self.path: list[str] = []
        self._text: list[str] | None = None
        self._length = 0

    @abstractmethod
    def names(self, of: str) -> list[str]:
        """Return the attributes that nodes or edges may have."""

    @abstractmethod
    def defaults(self, of: str) -> dict[str, object]:
        """Return what an attribute of nodes or edges is where nothing is told."""

    @abstractmethod
    def begin(self, tag: str, told: Mapping[str, str]) -> None:
        """An element begins; it is the last of ``path``."""

    @abstractmethod
    def end(self, tag: str) -> None:
        """An element ends; it is the last of ``path``."""

    def begin_text(self) -> None:
        """Take the text that follows."""
        self._text, self._length = [], 0

    def taken_text(self) -> tuple[str | None, bool]:
        """Return the text since it was begun, None where it was not, and whether it was too long and cut."""
        text = None if self._text is None else "".join(self._text)
        self._text = None
        return text, self._length > LONGEST_TEXT

    def parser(self) -> expat.XMLParserType:
        """Return a parser that tells this reader."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse
        parser.ExternalEntityRefHandler = _refuse
        parser.SkippedEntityHandler = _refuse
        return parser

    def _start(self, name: str, told: Mapping[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if not self.path and tag != self.root:
            raise UnreadableError(f"not {self.format}: its outermost element is {name[:60]}")
        self.path.append(tag)
        if len(self.path) > _MOST_LEVELS:
            raise UnreadableError(f"elements are nested more than {_MOST_LEVELS} levels deep")
        self.begin(tag, told)

    def _end(self, _: str) -> None:
        self.end(self.path[-1])
        self.path.pop()

    def _characters(self, text: str) -> None:
        if self._text is None:
            return
        if self._length <= LONGEST_TEXT:
            self._text.append(text[: LONGEST_TEXT - self._length])
        self._length += len(text)
        self.size += min(len(text), LONGEST_TEXT)


def xml_batches(
    stream: BinaryIO, reader: XmlReader, graph: str, account: Account, given: GraphColumns = GUESSED
) -> Iterator[Batch]:
    """Yield the nodes as entities and the edges as relations; rows are nodes and edges, counted from 1.

    Of ``given`` those columns count that are attributes of the file.

    Raises:
        RefusedError: it declares entities.
        UnreadableError: not of the reader's format, or broken XML.
    """
    parser = reader.parser()
    while True:
        piece = stream.read(_PIECE)
        try:
            parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            raise UnreadableError(f"broken XML: {error}; write the file again, or mend it there") from error
        except (LookupError, ValueError) as error:
            raise UnreadableError(f"XML in an encoding that cannot be read: {error}") from error
        if not piece or len(reader.elements) > ROWS // 2 or reader.size > _MOST_CHARACTERS:
            elements, reader.elements, reader.size = reader.elements, [], 0
            yield from batches_of(elements, graph, account, reader, given)
        if not piece:
            return


def _refuse(*_: object) -> int:
    raise RefusedError(
        "it declares or uses entities of XML, which may be made to fill the memory or to read other files; "
        "remove its DOCTYPE"
    )


def typed(kind: str, text: str | None) -> tuple[object, bool]:
    """Return a text as the type that was declared, and whether it is of that."""
    told = (text or "").strip()
    try:
        if kind in ("int", "long", "integer", "short") and told:
            return int(told), True
        if kind in ("float", "double") and told:
            number = float(told)
            # JSON has no infinity.
            return (number, True) if abs(number) <= 1.8e308 and number == number else (told, True)
        if kind == "boolean" and told:
            return {"true": True, "1": True, "false": False, "0": False}[told.lower()], True
    except (ValueError, KeyError):
        return clean(text or ""), False
    return (clean(text) if text else None), True
