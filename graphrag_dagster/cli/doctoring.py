"""``graphrag-dagster doctor``."""

from dataclasses import asdict
from itertools import groupby
from operator import attrgetter

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.console import ERR, OUT, print_json
from graphrag_dagster.core.language.llm.loop import run_one
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.endpoint.probes import Finding
from graphrag_dagster.resources.endpoint.probing import examine, remember, verdict
from graphrag_dagster.resources.home import memory_file
from graphrag_dagster.resources.memory.abilities import AbilityStore
from graphrag_dagster.resources.memory.database import database_at
from graphrag_dagster.settings import CorpusSettings

_COLOURS = {"works": "green", "fallback": "yellow", "fails": "red", "skipped": "dim"}
_LINES = {
    "ready": "[green]ready[/]: all that is needed works",
    "usable": "[yellow]usable[/]: the last column says what is done otherwise, and what is better set",
    "hopeless": "[red]hopeless[/] as it is: mend what fails, then run doctor again",
}


def doctor(name: str | None, *, as_json: bool) -> int:
    """Probe the model endpoints of a corpus, or those of the defaults and the environment, and print it.

    Returns:
        The exit code: 0 ready or usable, 1 hopeless.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
    """
    settings = CorpusSettings() if name is None else CorpusStore().settings(name)
    if not as_json:
        ERR.print("a dozen small questions to each model; this takes a minute with a slow one", style="dim")
    findings = run_one(examine(settings))
    outcome = verdict(findings)
    if outcome != "hopeless":
        remember(settings, AbilityStore(database_at(memory_file())))
    if as_json:
        print_json({"corpus": name, "verdict": outcome, "findings": [asdict(one) for one in findings]})
    else:
        for endpoint, group in groupby(findings, key=attrgetter("endpoint")):
            OUT.print(_table(endpoint, list(group)))
        OUT.print(_LINES[outcome], soft_wrap=True)
    return 1 if outcome == "hopeless" else 0


def _table(endpoint: str, findings: list[Finding]) -> RichTable:
    table = RichTable(title=escape(endpoint), title_justify="left")
    for column in ("probe", "", "found", "what follows"):
        table.add_column(column)
    for one in findings:
        outcome = f"[{_COLOURS[one.verdict]}]{one.verdict}[/]"
        table.add_row(one.probe, outcome, escape(one.found), escape(one.consequence))
    return table
