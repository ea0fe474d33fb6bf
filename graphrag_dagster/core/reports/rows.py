"""How a report context looks: sections of CSV rows (paper §3.1.5, spec_graphrag §6).

Every row starts with its number and every section with a fixed line of dashes, and each ends with one line
break. No text can forge either: cells with line breaks are quoted, and dashes that begin a line inside a cell
are indented.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LINE_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_FORGED = re.compile(r"^(?=-----)", re.MULTILINE)

REPORTS = "-----Reports-----\nid,report\n"
ENTITIES = "-----Entities-----\nid,name,description\n"
CLAIMS = "-----Claims-----\nid,subject,object,type,status,start_date,end_date,description\n"
RELATIONSHIPS = "-----Relationships-----\nid,source,target,description,combined_degree\n"
#: Behind all others, where the community has any; their numbers go on where those of the members end.
CONTEXT_NODES = "-----Context nodes-----\nid,name,description,community,similarity\n"
CONTEXT_RELATIONSHIPS = (
    "-----Relationships of context nodes-----\nid,source,target,description,combined_degree\n"
)


@dataclass(frozen=True, slots=True)
class Sections:
    """The rows of a context without their numbers, as :func:`row` makes them, in the order of the numbers."""

    reports: Sequence[str] = ()
    entities: Sequence[str] = ()
    claims: Sequence[str] = ()
    relationships: Sequence[str] = ()

    def render(self) -> str:
        """Return the context; numbers are 1…n in each section, and empty sections are left out."""
        parts: list[str] = []
        for header, rows in (
            (REPORTS, self.reports),
            (ENTITIES, self.entities),
            (CLAIMS, self.claims),
            (RELATIONSHIPS, self.relationships),
        ):
            parts += section(header, rows)
        return "".join(parts)


def section(header: str, rows: Sequence[str], first: int = 1) -> list[str]:
    """Return a header and its rows, numbered from ``first`` on; nothing where there are no rows."""
    return [header, *(f"{number}{text}" for number, text in enumerate(rows, first))] if rows else []


def row(*values: object) -> str:
    """Return a CSV row behind its number: ``,value,value…`` and a line break."""
    return "".join([f",{cell(str(value))}" for value in values]) + "\n"


def cell(text: str) -> str:
    """Return a CSV cell; quoted where needed, with ``\\n`` as its only line break."""
    # No line break is printable, and to see that takes a tenth of the time of looking for one.
    unified = text if text.isprintable() else _LINE_BREAKS.sub("\n", text)
    if "-----" in unified:
        unified = _FORGED.sub(" ", unified)
    if "," in unified or '"' in unified or "\n" in unified:
        return '"' + unified.replace('"', '""') + '"'
    return unified
