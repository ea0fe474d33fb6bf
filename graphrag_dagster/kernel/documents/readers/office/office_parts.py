"""Shared parts of Word documents and presentations: equations, charts, diagrams and drawn text."""

from collections import Counter
from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

from graphrag_dagster.kernel.documents.readers.office.packages import child, children, texts


def listed(what: str, counts: Counter[str]) -> tuple[str, ...]:
    """Return a note of how many there are of what, or none: ``not in the text: chart (1), picture (3)``."""
    told = ", ".join(f"{name} ({count:,})" for name, count in sorted(counts.items()) if count)
    return (f"{what}: {told}",) if told else ()


def row(cells: Iterable[str]) -> str:
    """Return a row of a table, each cell on one line."""
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"


def equation(element: Element) -> str:
    """Return an equation of Office on one line: ``(a+b)/c``, ``x^2``, ``√(y)``, ``∑_(i=1)^n``."""
    return " ".join(_math(element).split())


def _math(element: Element) -> str:
    if element.tag in ("m:t", "w:t"):
        return element.text or ""
    if element.tag.endswith("Pr"):
        return ""
    written = _FORMS.get(element.tag)
    return written(element) if written else "".join(map(_math, element))


def _of(element: Element, name: str) -> str:
    found = child(element, f"m:{name}")
    return _math(found).strip() if found is not None else ""


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _property(element: Element, name: str, otherwise: str) -> str:
    for found in element:
        if found.tag.endswith("Pr"):
            value = next((one for one in found if one.tag == f"m:{name}"), None)
            return otherwise if value is None else value.get("m:val", "")
    return otherwise


def _scripted(element: Element, base: str) -> str:
    sub, sup = _of(element, "sub") or _of(element, "lim"), _of(element, "sup")
    return base + (f"_{_grouped(sub)}" if sub else "") + (f"^{_grouped(sup)}" if sup else "")


def _fraction(element: Element) -> str:
    return f"{_grouped(_of(element, 'num'))}/{_grouped(_of(element, 'den'))}"


def _root(element: Element) -> str:
    return f"{_of(element, 'deg')}√{_grouped(_of(element, 'e'))}"


def _sum(element: Element) -> str:
    return f"{_scripted(element, _property(element, 'chr', '∫'))} {_of(element, 'e')}"


def _delimited(element: Element) -> str:
    inner = [_math(one).strip() for one in children(element, "m:e")]
    between = _property(element, "sepChr", "|")
    return f"{_property(element, 'begChr', '(')}{between.join(inner)}{_property(element, 'endChr', ')')}"


def _matrix(element: Element) -> str:
    rows = (
        ", ".join(_math(cell).strip() for cell in children(one, "m:e")) for one in children(element, "m:mr")
    )
    return f"[{'; '.join(rows)}]"


_FORMS: dict[str, Callable[[Element], str]] = {
    "m:f": _fraction,
    "m:sSup": lambda one: _scripted(one, _of(one, "e")),
    "m:sSub": lambda one: _scripted(one, _of(one, "e")),
    "m:sSubSup": lambda one: _scripted(one, _of(one, "e")),
    "m:sPre": lambda one: f"{_scripted(one, '')}{_of(one, 'e')}",
    "m:limLow": lambda one: _scripted(one, _of(one, "e")),
    "m:limUpp": lambda one: f"{_of(one, 'e')}^{_grouped(_of(one, 'lim'))}",
    "m:rad": _root,
    "m:nary": _sum,
    "m:d": _delimited,
    "m:func": lambda one: f"{_of(one, 'fName')} {_of(one, 'e')}",
    "m:m": _matrix,
    "m:eqArr": lambda one: "; ".join(_math(inner).strip() for inner in children(one, "m:e")),
}


def chart(root: Element) -> list[str]:
    """Return the titles of a chart, and its series as a table: a row per category."""
    titles = [
        "".join(texts(title, "a:t", "c:v", "cx:v")).strip()
        for title in root.iter()
        if title.tag in ("c:title", "cx:title")
    ]
    series = list(root.iter("c:ser"))
    if not series:
        loose = [" ".join(one.split()) for one in texts(root, "cx:pt", "cx:v")]
        return [*filter(None, titles), *(["; ".join(loose)] if loose else [])]
    named = [
        "".join(texts(found, "c:v")) if (found := child(one, "c:tx")) is not None else "" for one in series
    ]
    categories: dict[str, str] = {}
    values: list[dict[str, str]] = []
    for one in series:
        for name in ("c:cat", "c:xVal"):
            for place, text in _points(one, name).items():
                categories.setdefault(place, text)
        values.append(_points(one, "c:val") | _points(one, "c:yVal"))
    places = list(categories | {place: "" for column in values for place in column})
    rows = [
        row(["", *named]),
        *(row([categories.get(p, ""), *(column.get(p, "") for column in values)]) for p in places),
    ]
    return [*filter(None, titles), "\n".join(rows)]


def _points(series: Element, name: str) -> dict[str, str]:
    """Values by place; where categories have several levels, the first of them."""
    found = child(series, name)
    if found is None:
        return {}
    points: dict[str, str] = {}
    for point in found.iter("c:pt"):
        points.setdefault(point.get("idx", ""), "".join(texts(point, "c:v")))
    return points


def diagram(root: Element) -> list[str]:
    """Return what stands in the shapes of a diagram (SmartArt) as a list."""
    items = [" ".join(" ".join(drawn(point)).split()) for point in root.iter("dgm:pt")]
    return ["\n".join(f"- {item}" for item in items if item)] if any(items) else []


def drawn(element: Element) -> list[str]:
    """Return the paragraphs of drawn text."""
    return [text for paragraph in element.iter("a:p") if (text := drawn_line(paragraph))]


def drawn_line(paragraph: Element) -> str:
    """Return the text of one paragraph of drawn text; equations in it on one line."""
    parts: list[str] = []
    _collect(paragraph, parts)
    return "\n".join(" ".join(line.split()) for line in "".join(parts).split("\n")).strip()


def _collect(element: Element, parts: list[str]) -> None:
    for one in element:
        if one.tag == "a:t":
            parts.append(one.text or "")
        elif one.tag == "a:br":
            parts.append("\n")
        elif one.tag == "a:tab":
            parts.append(" ")
        elif one.tag in ("m:oMath", "m:oMathPara"):
            parts.append(equation(one))
        elif one.tag == "mc:AlternateContent":
            _collect(chosen(one), parts)
        else:
            _collect(one, parts)


def chosen(alternate: Element) -> Element:
    """Return that of the alternatives of a place which says something; the newest where several do."""
    options = [one for one in alternate if one.tag in ("mc:Choice", "mc:Fallback")]
    said = [one for one in options if any(text.strip() for text in texts(one, "w:t", "a:t", "m:t"))]
    return [*said, *(one for one in options if len(one)), alternate][0]
