"""``graphrag-dagster plan``: what the next index will ask of models."""

import sys
from collections.abc import Iterator
from typing import Any

import polars as pl
import typer
from rich.text import Text

from graphrag_dagster.apps.evaluation.settings import EvaluationSettings
from graphrag_dagster.apps.planning.indexing_plan import plan_corpus
from graphrag_dagster.cli.console import ERR
from graphrag_dagster.cli.options import Target
from graphrag_dagster.cli.result import Frame, Part, Result, say
from graphrag_dagster.cli.run_budget import RunBudget
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.models.call_estimates import Estimate, Plan, Range
from graphrag_dagster.kernel.models.model_costs import Price
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore


def show_plan(target: Target) -> Result:
    """Estimate calls, tokens and money by stage, of the corpus of that name or the folder at that path.

    Raises:
        GraphragError: names the problem and the fix.
    """
    plan = plan_corpus(CorpusStore().resolve(target))
    if not plan.estimates:
        return Result(plan_facts(plan), [f"{plan.corpus}: no stage uses a model; nothing will be sent"])
    basis = "this model's earlier replies" if plan.experienced else "the names in them"
    text = f"Text units are exact; reply sizes are estimated from {basis}; later stages are rougher. "
    shown = estimates(f"{plan.corpus}: {plan.text_units:,} text units", plan)
    return Result(plan_facts(plan), [*shown, Text(f"{text}Nothing was sent.", "dim")])


def agree_to_spend(plan: Plan, budget: RunBudget, *, yes: bool) -> None:
    """Print what a run beyond the index may ask of models, and ask on a terminal whether to run it.

    Where no model is asked nothing is asked of the user, either.

    Args:
        plan: of the run.
        budget: its limits.
        yes: run it without asking.

    Raises:
        GraphragError: nobody agreed.
    """
    for part in plan_result(plan).shown:
        say(part)
    if not plan.estimates:
        return
    limit = CorpusStore().settings(plan.corpus).section(EvaluationSettings).max_tokens
    tokens = f"{budget.max_tokens:,} tokens" if budget.max_tokens is not None else ""
    usd = f"US$ {budget.max_usd:,.2f}" if budget.max_usd is not None else ""
    given = " and ".join(filter(None, (tokens, usd)))
    stops = f"it stops at {given or f'{limit:,} tokens (evaluation.max_tokens; --max-tokens sets another)'}"
    most = budget.max_tokens if given else limit
    asks = f"this run may ask a model for {_range(plan.tokens)} tokens, and {stops}"
    if most is not None and plan.tokens.expected > most:
        asks += "; by the estimate that is too little to finish, but what is paid for stays cached"
    if not yes and not sys.stdin.isatty():
        raise GraphragError(f"{asks}. Without a terminal nothing is asked: --yes runs it")
    ERR.say(asks, markup=False)
    if not yes and not typer.confirm("Run it?", err=True):
        raise GraphragError("nothing was sent")


def plan_result(plan: Plan) -> Result:
    """Return what a run beyond the index asks of models if nothing is cached of it yet."""
    if not plan.estimates:
        return Result(plan_facts(plan), [f"{plan.corpus}: no model is asked"])
    return Result(plan_facts(plan), estimates(f"{plan.corpus}: estimate with an empty LLM cache", plan))


def estimates(title: str, plan: Plan) -> Iterator[Part]:
    """Yield a plan's stages, each with the least, the expected and the most that it needs, and their sum."""
    facts = plan_facts(plan)
    rows = [
        {
            "stage": one["stage"],
            "model": one["model"],
            "cached": one["cached"],
            "calls": _range(one["calls"]),
            "tokens in": _range(one["input_tokens"]),
            "tokens out": _range(one["output_tokens"]),
            "US$": "?" if one["usd"] is None else _dollars(one["usd"]),
        }
        for one in facts["stages"]
    ]
    yield Frame(pl.DataFrame(rows, infer_schema_length=None), title)
    price = "price unknown" if facts["usd"] is None else f"US$ {_dollars(facts['usd'])}"
    yield f"total {_range(plan.tokens)} tokens, {price}"


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return a plan for scripts; money is None where a price is unknown."""
    shown = ("stage", "task", "model", "cached", "calls", "input_tokens", "output_tokens", "tokens")
    stages = [
        {**{name: getattr(one, name) for name in shown}, "usd": _usd(one, plan.prices.get(one.model))}
        for one in plan.estimates
    ]
    known = [one["usd"] for one in stages if one["usd"] is not None]
    return {
        "corpus": plan.corpus,
        "text_units": plan.text_units,
        "stages": stages,
        "tokens": plan.tokens,
        "usd": sum(known, Range(0, 0, 0)) if len(known) == len(stages) else None,
    }


def _usd(one: Estimate, price: Price | None) -> Range | None:
    if price is None:
        return None
    return one.input_tokens * price.of(1, 0) + one.output_tokens * price.of(0, 1)


def _range(value: Range) -> str:
    bounds = [value.expected] if value.low == value.high else [value.low, value.expected, value.high]
    return " – ".join(f"{bound:,.0f}" for bound in bounds)


def _dollars(value: Range) -> str:
    return " – ".join(f"{part:.3f}" for part in (value.low, value.expected, value.high))
