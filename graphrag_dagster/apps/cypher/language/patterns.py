"""Patterns of a query: nodes, relations and the paths that they make."""

from graphrag_dagster.apps.cypher.language.expressions import Expressions
from graphrag_dagster.kernel.questions.context.queries import LONGEST_PATH, QueryError

#: Nodes and relations of all patterns of a query.
_MOST_PARTS = 40
_SHORTEST = {"SHORTESTPATH": "shortestPath", "ALLSHORTESTPATHS": "allShortestPaths"}
_EMBEDDED_SHORTEST = {"": "TRAIL", "shortestPath": "SHORTEST", "allShortestPaths": "ALL SHORTEST"}


class Patterns(Expressions):
    """Reads patterns beside expressions; see :class:`.Expressions`."""

    _parts = 0

    def _patterns(self) -> str:
        return ", ".join(self._several(self._pattern))

    def _pattern(self) -> str:
        variable = ""
        if self._next.kind in {"name", "quoted"} and self._words[self._at + 1].upper == "=":
            variable = f"{self._name('a path')} = "
            self._take("=")
        shortest = _SHORTEST.get(self._next.upper, "")
        if not shortest:
            return variable + self._path()
        self._at += 1
        self._take("(")
        path = self._path(shortest)
        self._take(")")
        # The embedded engine says beside the relation which paths are meant.
        return variable + (path if self._dialect == "embedded" else f"{shortest}({path})")

    def _path(self, shortest: str = "") -> str:
        written = self._node()
        while self._ahead("<", "-") or self._ahead("-"):
            written += self._relation(shortest) + self._node()
        return written

    def _counted(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise QueryError(f"the patterns of the query have more than {_MOST_PARTS} nodes and relations")

    def _node(self) -> str:
        self._counted()
        self._take("(")
        written = self._inside("a label")
        self._take(")")
        return f"({written})"

    def _inside(self, what: str, *, ranged: str | None = None) -> str:
        """Variable, labels or types, lengths and properties, all of which may be missing."""
        word = self._next
        written = self._name("a variable") if word.kind == "quoted" or word.kind == "name" else ""
        if self._taken(":"):
            named = [self._name(what, keywords=True)]
            while self._taken("|"):
                self._taken(":")
                named.append(self._name(what, keywords=True))
            if self._ahead(":"):
                raise self._wrong("one label, or several joined by |; not ':'")
            written += f":{'|'.join(named)}"
        if ranged is not None and self._taken("*"):
            written += self._lengths(ranged)
        if self._taken("{", "}"):
            return written
        if self._ahead("{"):
            written += f" {self._map()}"
        return written

    def _relation(self, shortest: str) -> str:
        self._counted()
        left = self._taken("<")
        self._take("-")
        inside = ""
        if self._taken("["):
            inside = f"[{self._inside('a type', ranged=shortest)}]"
            self._take("]")
        self._take("-")
        right = self._taken(">")
        if left and right:
            raise self._wrong("a relation leads one way, or either: leave out < or >")
        return f"{'<' if left else ''}-{inside}-{'>' if right else ''}"

    def _lengths(self, shortest: str) -> str:
        least = self._whole()
        most = least
        if self._taken(".."):
            most = self._whole()
        if most is None or most > LONGEST_PATH:
            raise self._wrong(f"a path of any length needs a bound of at most {LONGEST_PATH}, such as *1..3")
        if least is not None and least > most:
            raise self._wrong(f"a path cannot have from {least} to {most} relations")
        lengths = f"{1 if least is None else least}..{most}"
        # A relation comes once in a path, as it does in openCypher.
        return f"* {_EMBEDDED_SHORTEST[shortest]} {lengths}" if self._dialect == "embedded" else f"*{lengths}"

    def _in_brackets(self) -> str:
        """An expression in brackets, or a pattern as a condition: that there is such a path."""
        return self._path() if self._begins_path() else super()._in_brackets()

    def _begins_path(self) -> bool:
        depth = 0
        for place in range(self._at, len(self._words)):
            sign = self._words[place].upper
            depth += (sign in {"(", "{", "["}) - (sign in {")", "}", "]"})
            if depth == 0:
                after = [word.upper for word in self._words[place + 1 : place + 4]]
                return after[:2] in (["-", "["], ["-", "-"]) or after in (["<", "-", "["], ["<", "-", "-"])
        return False
