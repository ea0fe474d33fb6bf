"""Number formatting for readers: rounded, grouped, with a true minus sign."""

from math import isfinite

#: Stands where there is no number.
NONE = "–"
_MINUS = "\N{MINUS SIGN}"
ALPHA = 0.05


def plain(value: float | None) -> str:
    """Return a whole number as it is, another with two decimals below 1, one below 100, else none.

    >>> plain(0.274), plain(34.18), plain(1309.6), plain(3.0), plain(3), plain(None)
    ('0.27', '34.2', '1,310', '3.0', '3', '–')
    """
    if value is None or not isfinite(value):
        return NONE
    size = abs(value)
    digits = 2 if round(size, 2) < 1 else 1 if round(size, 1) < 100 else 0
    text = f"{size:,.{0 if isinstance(value, int) else digits}f}"
    return f"{_MINUS}{text}" if value < 0 and text.strip("0.") else text


def signed(value: float | None) -> str:
    """Return a difference, with its sign.

    >>> signed(6.12), signed(-0.5), signed(0.0)
    ('+6.1', '−0.50', '0.00')
    """
    text = plain(value)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def percent(value: float | None, digits: int = 1) -> str:
    """Return a percentage that is given as 0–100.

    >>> percent(71.92), percent(71.92, 0), percent(None)
    ('71.9 %', '72 %', '–')
    """
    if value is None or not isfinite(value):
        return NONE
    return f"{value:.{digits}f} %".replace("-", _MINUS)


def share(value: float | None, digits: int = 1) -> str:
    """Return a share that is given as 0–1 as a percentage."""
    return percent(None if value is None else 100 * value, digits)


def p_value(p: float | None) -> str:
    """Return a p value with its sign of relation; rounding never carries it across 0.05.

    >>> p_value(0.0004), p_value(0.0341), p_value(0.04996), p_value(1.0)
    ('p < .001', 'p = .034', 'p < .05', 'p = 1')
    """
    if p is None or not isfinite(p):
        return NONE
    if p < 0.001:
        return "p < .001"
    if p < ALPHA <= round(p, 3):
        return "p < .05"
    return "p = 1" if p >= 0.9995 else f"p = {p:.3f}".replace("0.", ".", 1)


def money(usd: float | None) -> str:
    """Return US dollars, below ten cents with two digits that count.

    >>> money(0.01234), money(0.5), money(0.0), money(None)
    ('$0.012', '$0.50', '$0', '–')
    """
    if usd is None or not isfinite(usd):
        return NONE
    if usd == 0:
        return "$0"
    return f"${usd:,.2f}" if usd >= 0.1 else f"${float(f'{usd:.2g}'):.12f}".rstrip("0").rstrip(".")


def listed(items: list[str]) -> str:
    """Return items as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""
