import polars as pl
from rich.console import Console

from graphrag_dagster.cli.commands.corpus.show_commands import figures_table


def test_levels_above_c0_are_told_first_and_zeros_are_left_out() -> None:
    counted = {
        "text units": 1,
        "claims": 0,
        "communities in C-1": 9,
        "communities in C-2": 2,
        "communities in C0": 70,
        "communities in C1": 300,
        "reports by llm": 1,
    }
    summary = pl.DataFrame(
        [("area", measure, float(value)) for measure, value in counted.items()],
        schema=["area", "measure", "value"],
        orient="row",
    )
    console = Console(width=80)
    with console.capture() as shown:
        console.print(figures_table(summary))
    lines = [line.split() for line in shown.get().splitlines()]
    assert lines == [
        ["text", "units", "1", "text", "unit"],
        ["communities", "C-2", "2,", "C-1", "9,", "C0", "70,", "C1", "300"],
        ["reports", "1", "by", "llm"],
    ]
