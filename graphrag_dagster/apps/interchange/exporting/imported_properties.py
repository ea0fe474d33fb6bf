"""What rows of graphs from elsewhere say besides what they are read as: a property for each of its names."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from graphrag_dagster.apps.interchange.exporting.microsoft_tables import NULLS
from graphrag_dagster.apps.interchange.exporting.source import Source
from graphrag_dagster.apps.interchange.writers.graph import RESERVED
from graphrag_dagster.kernel.documents.files.columns import once_each

#: More names of attributes than these are written as one property, as JSON.
MOST_ATTRIBUTES = 300
_WHOLE, _QUOTE = "attributes", '"'
#: Types of a list of texts, and of one of nothing.
TEXTS, _EMPTY = "VARCHAR[]", "[]"
_WHOLE_NUMBERS = "case when try_cast(a.value as bigint[]) is not null then 'BIGINT[]' end"


@dataclass(frozen=True)
class Property:
    """A column of properties.

    Attributes:
        name: of it, which may hold anything.
        type: of its values.
        read: expression of what is read under this name; blank where nothing is.
        names: where a row says something else by one of these, the property is called by the first of them
            that is free, so that it is found again before the others.
    """

    name: str
    type: str
    read: str = ""
    names: Sequence[str] = ()

    def among(self, said: Iterable[str]) -> "Property":
        """Return the property with the name that it has beside those that rows say something by."""
        taken = {one.casefold() for one in said}
        if taken.isdisjoint(self.names):
            return self
        return replace(self, name=next((one for one in self.names if one not in taken), self.name))

    def value(self, said: list[str]) -> str:
        """Return the expression of its values; a row's own value of that name comes first.

        Args:
            said: names of what the rows say besides, in the order of the list ``:said``.
        """
        if self.name not in said:
            value = self.read
        else:
            own = _nth(said, self.name)
            value = f"json_extract_string({own}, '$')"
            if self.type.endswith("[]"):
                value = f"from_json({own}, '[\"{self.type.removesuffix('[]')}\"]')"
            elif self.type != "VARCHAR":
                value = f"try_cast({value} as {self.type})"
            if self.read:
                value = f"case when {own} is null then {self.read} else {value} end"
        if self.read and NULLS in said:
            nothing = f"json_contains({_nth(said, NULLS)}, '{json.dumps(self.name)}')"
            value = f"case when coalesce({nothing}, false) then null else {value} end"
        return value


def _quoted(name: str) -> str:
    return f'"{name.replace(_QUOTE, _QUOTE * 2)}"'


def _nth(said: list[str], name: str) -> str:
    return f'b.":said"[{said.index(name) + 1}]'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _attributes(source: Source, table: str) -> dict[str, str] | None:
    """Return name → type of what rows say besides, the first of it first; None where it is too much."""
    rows = source.connection.execute(
        f"""
        select
            a.key,
            list(distinct case
                when a.type = 'UBIGINT' and try_cast(a.value::varchar as bigint) is null then 'VARCHAR'
                when a.type = 'UBIGINT' then 'BIGINT'
                when a.type <> 'ARRAY' then a.type
                else coalesce(case json_structure(a.value)::varchar
                    when '["VARCHAR"]' then '{TEXTS}'
                    when '["NULL"]' then '{_EMPTY}'
                    when '["DOUBLE"]' then 'DOUBLE[]'
                    when '["BOOLEAN"]' then 'BOOLEAN[]'
                    when '["BIGINT"]' then 'BIGINT[]'
                    -- Of numbers that are not negative, or of both signs.
                    when '["UBIGINT"]' then {_WHOLE_NUMBERS}
                    when '["HUGEINT"]' then {_WHOLE_NUMBERS}
                end, 'VARCHAR')
            end) filter (a.type <> 'NULL') as types
        from {table} as b, json_each(b.attributes::json) as a
        group by a.key
        order by min({{'path': b.path, 'row': b."row", 'place': a.id}})
        limit {MOST_ATTRIBUTES + 1}
        """
    ).fetchall()
    return {name: _type(set(types or ())) for name, types in rows} if len(rows) <= MOST_ATTRIBUTES else None


def _type(types: set[str]) -> str:
    if _EMPTY in types:
        types = types - {_EMPTY} or {TEXTS}
    if types == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    one = types.pop() if len(types) == 1 else ""
    return one if one.removesuffix("[]") in {"BIGINT", "DOUBLE", "BOOLEAN"} or one == TEXTS else "VARCHAR"


@dataclass(frozen=True)
class PropertyRows:
    """The rows of a table, called ``b``, and the columns of their properties.

    Attributes:
        table: as it is read: what its rows say besides is taken apart once, into the list ``:said``.
        properties: what it is read as, and what it says besides.
    """

    table: str
    properties: str


def property_rows(
    source: Source, table: str, *read: Property, without: Sequence[str] = (), apart: bool = False
) -> PropertyRows:
    """Return the rows of a table with what they are read as and what they say besides.

    Args:
        source: has the table.
        table: its view.
        read: what its rows are read as.
        without: names of lists of texts that are told elsewhere.
        apart: what rows say by the name of something that they are read as is told beside it, renamed.
    """
    said = _attributes(source, table)
    if said is None:
        columns = [*(f"{one.value([])} as {_quoted(one.name)}" for one in read), f"b.{_WHOLE}"]
        return PropertyRows(table, ", ".join(columns))
    names = list(said)
    read = tuple(one.among(names) for one in read)
    left_out = {NULLS, *(() if apart else (one.name for one in read))}
    left_out.update(name for name in without if said.get(name) == TEXTS)
    others = [Property(name, type_) for name, type_ in said.items() if name not in left_out]
    values = [*(one.value([] if apart else names) for one in read), *(one.value(names) for one in others)]
    called = once_each([*RESERVED, *(one.name for one in (*read, *others))])[len(RESERVED) :]
    told = ", ".join(f"{value} as {_quoted(name)}" for value, name in zip(values, called, strict=True))
    places = ", ".join(_text("/" + name.replace("~", "~0").replace("/", "~1")) for name in names)
    taken = f'(select *, json_extract(attributes, [{places}]) as ":said" from {table})' if names else table
    return PropertyRows(taken, told)


def as_read(*names: str) -> list[Property]:
    """Return columns of text that are properties as they are."""
    return [Property(name, "VARCHAR", f"b.{name}") for name in names]
