"""What summaries of communities will ask of a model is told before, by the communities that there are."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.apps.planning.indexing_plan import largest_data
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.coterag.tables import COTERAG_COMMUNITIES, COTERAG_SUMMARIES
from support.conversations import asked_of
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint
from support.modelled import model_settings

Run = Callable[..., tuple[int, str, str]]
COTERAG = "coterag: {least_component: 2, least_community: 2}\n"
FURTHER = """
Orrin Vask met Piet Lund at Skerry Point. Piet Lund sold the Marlin Queen to Ysolde Brandt.
Ysolde Brandt and Orrin Vask own the Grey Heron. The Grey Heron lies at Skerry Point.
"""


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as server:
        yield server


@pytest.fixture
def planned(run: Run) -> Callable[[], dict[str, Any]]:
    def plan() -> dict[str, Any]:
        code, out, err = run("plan", "coast", "--json")
        assert code == 0, err
        return {one["stage"]: one for one in json.loads(out)["stages"]}

    return plan


@pytest.fixture
def summaries(endpoint: ScriptedEndpoint) -> Callable[[], list[str]]:
    """The requests for summaries so far, as the model was shown them."""

    def asked() -> list[str]:
        made = [asked_of(one.body) for one in endpoint.chats]
        return [one.system + one.data for one in made if one.task == "coterag_summary"]

    return asked


@pytest.mark.long
def test_a_plan_counts_the_communities_that_lack_a_summary(
    planned: Callable[[], dict[str, Any]],
    summaries: Callable[[], list[str]],
    modelled: Path,
    endpoint: ScriptedEndpoint,
) -> None:
    assert "coterag" not in planned()
    settings = model_settings(endpoint)
    (modelled / "corpus.yaml").write_text(settings + COTERAG, encoding="utf-8")
    foretold = planned()["coterag"]
    assert endpoint.requests == []
    run_job("coast")
    communities = Warehouse().read(COTERAG_COMMUNITIES, "coast").filter(tiny=False)
    made = Warehouse().read(COTERAG_SUMMARIES, "coast")
    assert set(made.join(communities, on="community_id")["engine"]) == {"llm"}
    assert made["problem"].null_count() == len(made)
    asked = summaries()
    assert foretold["calls"] == dict.fromkeys(("low", "expected", "high"), len(asked))
    assert len(asked) == len(communities) > 0
    assert foretold["usd"]["expected"] > 0
    afterwards = planned()["coterag"]
    assert (afterwards["calls"]["high"], afterwards["cached"]) == (0, len(asked))

    (modelled / "further.txt").write_text(FURTHER, encoding="utf-8")
    grown = planned()["coterag"]["calls"]
    assert grown["low"] == 0 < grown["expected"] < grown["high"]
    run_job("coast")
    assert 0 < len(summaries()) - len(asked) <= grown["high"]


def test_before_there_is_a_graph_a_plan_guesses_from_names(
    planned: Callable[[], dict[str, Any]], home: Path, endpoint: ScriptedEndpoint
) -> None:
    write_corpus(home / "corpora", settings=model_settings(endpoint) + COTERAG)
    stages = planned()
    foretold = stages["coterag"]
    assert 0 < foretold["calls"]["low"] < foretold["calls"]["expected"] < foretold["calls"]["high"]
    assert foretold["cached"] == 0
    assert foretold["task"] == "coterag_summary"
    with_coterag = stages["embeddings"]["tokens"]["expected"]
    write_corpus(home / "corpora", settings=model_settings(endpoint))
    assert "coterag" not in planned()
    assert planned()["embeddings"]["tokens"]["expected"] < with_coterag


def test_the_longest_prompt_to_be_expected_may_be_that_of_a_summary(
    home: Path, endpoint: ScriptedEndpoint
) -> None:
    def longest(more: str) -> int:
        short = model_settings(endpoint) + "graph: {max_input_tokens: 100}\n"
        write_corpus(home / "corpora", settings=short + more)
        return largest_data("coast")["summarise"]

    assert longest("") == 100
    assert longest("coterag: {summary_tokens: 250}\n") == 250
    assert 250 < longest(COTERAG) < 32_000
