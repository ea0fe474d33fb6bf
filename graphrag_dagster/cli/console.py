"""How the command line prints."""

import json
from typing import Any

from rich.console import Console

OUT = Console(highlight=False)
ERR = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print a JSON document to standard output, unwrapped and uncoloured."""
    OUT.print(json.dumps(value, indent=2, ensure_ascii=False, default=str), soft_wrap=True, markup=False)


def number(value: float) -> str:
    """Render a count with thousands separators, a share as percent."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.1%}" if 0 < value < 1 else f"{value:,.2f}"
