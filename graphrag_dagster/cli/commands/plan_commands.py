"""``graphrag-dagster plan``: what the next index will ask of models."""

import sys
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.apps.evaluation.settings import EvaluationSettings
from graphrag_dagster.apps.planning.indexing_plan import plan_corpus
from graphrag_dagster.cli.console import ERR, OUT, number, print_json
from graphrag_dagster.cli.run_budget import RunBudget
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.models.call_estimates import Estimate, Plan, Range
from graphrag_dagster.kernel.models.model_costs import Price
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore


def show_plan(target: str, *, as_json: bool) -> None:
    """Print calls, tokens and money by stage, of the corpus of that name or the folder at that path.

    Raises:
        GraphragError: names the problem and the fix.
    """
    name = CorpusStore().resolve(target)
    plan = plan_corpus(name)
    if as_json:
        print_json(plan_json(plan))
        return
    if not plan.estimates:
        OUT.say(f"{escape(name)}: no stage uses a model; nothing will be sent")
        return
    print_estimates(f"{name}: {plan.text_units:,} text units", plan)
    OUT.say(
        "Text units are exact; reply sizes are estimated from "
        + ("this model's earlier replies" if plan.experienced else "the names in them")
        + "; later stages are rougher. Nothing was sent.",
        style="dim",
    )


def agree_to_spend(plan: Plan, budget: RunBudget, *, yes: bool, as_json: bool) -> None:
    """Print what a run beyond the index may ask of models, and ask on a terminal whether to run it.

    Where no model is asked nothing is asked of the user, either.

    Args:
        plan: of the run.
        budget: its limits.
        yes: run it without asking.
        as_json: standard output is for JSON alone.

    Raises:
        GraphragError: nobody agreed.
    """
    if not as_json:
        print_plan(plan, as_json=False)
    if not plan.estimates:
        return
    limit = CorpusStore().settings(plan.corpus).section(EvaluationSettings).max_tokens
    tokens = f"{budget.max_tokens:,} tokens" if budget.max_tokens is not None else ""
    usd = f"US$ {budget.max_usd:,.2f}" if budget.max_usd is not None else ""
    given = " and ".join(filter(None, (tokens, usd)))
    stops = f"it stops at {given or f'{limit:,} tokens (evaluation.max_tokens; --max-tokens sets another)'}"
    most = limit if not given else budget.max_tokens
    asks = f"this run may ask a model for {_range(plan.tokens)} tokens, and {stops}"
    if most is not None and plan.tokens.expected > most:
        asks += "; by the estimate that is too little to finish, but what is paid for stays cached"
    if yes:
        ERR.say(asks, markup=False)
        return
    if not sys.stdin.isatty():
        raise GraphragError(f"{asks}. Without a terminal nothing is asked: --yes runs it")
    ERR.say(asks, markup=False)
    if not typer.confirm("Run it?", err=True):
        raise GraphragError("nothing was sent")


def print_plan(plan: Plan, *, as_json: bool) -> None:
    """Print what a run beyond the index asks of models if nothing is cached of it yet."""
    if as_json:
        print_json(plan_json(plan))
    elif plan.estimates:
        print_estimates(f"{plan.corpus}: estimate with an empty LLM cache", plan)
    else:
        OUT.say(f"{escape(plan.corpus)}: no model is asked")


def print_estimates(title: str, plan: Plan) -> None:
    """Print a plan's stages, a line for each bound of what they need, and their sum."""
    table = RichTable(title=escape(title), title_justify="left", show_lines=True)
    table.add_column("stage, model", overflow="fold")
    table.add_column("")
    for column in ("calls", "tokens in", "tokens out", "US$"):
        table.add_column(column, justify="right")
    for one in plan.estimates:
        money = usd(one, plan.prices.get(one.model))
        cached = f"\n{number(one.cached)} cached" if one.cached else ""
        table.add_row(
            f"{one.stage}\n{escape(one.model)}{cached}",
            "lowest\nexpected\nhighest",
            *(_lines(value) for value in (one.calls, one.input_tokens, one.output_tokens)),
            "?" if money is None else "\n".join(_dollars(money)),
        )
    OUT.print(table)
    total = total_usd(plan)
    price = "price unknown" if total is None else f"US$ {' – '.join(_dollars(total))}"
    OUT.say(f"total {_range(plan.tokens)} tokens, {price}")


def usd(one: Estimate, price: Price | None) -> Range | None:
    """The money of an estimate; None where the price is unknown."""
    if price is None:
        return None
    dollars = (
        price.of(int(i), int(o))
        for i, o in (
            (one.input_tokens.low, one.output_tokens.low),
            (one.input_tokens.expected, one.output_tokens.expected),
            (one.input_tokens.high, one.output_tokens.high),
        )
    )
    return Range(*dollars)


def total_usd(plan: Plan) -> Range | None:
    """The money of all stages; None where a price is unknown."""
    total = Range(0, 0, 0)
    for one in plan.estimates:
        money = usd(one, plan.prices.get(one.model))
        if money is None:
            return None
        total = total + money
    return total


def _range(value: Range) -> str:
    if value.low == value.high:
        return number(round(value.expected))
    return " – ".join(_lines(value).splitlines())


def _lines(value: Range) -> str:
    return "\n".join(number(round(part)) for part in (value.low, value.expected, value.high))


def _dollars(value: Range) -> list[str]:
    return [f"{part:.3f}" for part in (value.low, value.expected, value.high)]


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan for scripts."""

    def shown(value: Range) -> dict[str, float]:
        return {"low": value.low, "expected": value.expected, "high": value.high}

    stages = []
    for one in plan.estimates:
        money = usd(one, plan.prices.get(one.model))
        stages.append(
            {
                "stage": one.stage,
                "task": one.task,
                "model": one.model,
                "cached": one.cached,
                "calls": shown(one.calls),
                "input_tokens": shown(one.input_tokens),
                "output_tokens": shown(one.output_tokens),
                "tokens": shown(one.tokens),
                "usd": shown(money) if money else None,
            }
        )
    total = total_usd(plan)
    return {
        "corpus": plan.corpus,
        "text_units": plan.text_units,
        "stages": stages,
        "tokens": shown(plan.tokens),
        "usd": shown(total) if total else None,
    }
