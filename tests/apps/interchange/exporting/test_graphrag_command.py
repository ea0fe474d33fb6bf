"""Microsoft GraphRAG's own command over an export: its context is ours, and what it cites are our rows."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import export
from graphrag_dagster.apps.interchange.exporting.microsoft_project import SERVER
from graphrag_dagster.kernel.text.citations import parse_citations
from graphrag_dagster.service.settings import ServiceSettings
from support.conversations import text_of
from support.endpoint import ScriptedEndpoint
from support.homes import enter_home
from support.vocabularies import write_vocabularies

REPOSITORY = Path(__file__).parents[4]
COMMAND = REPOSITORY / ".venv-graphrag" / "bin" / "graphrag"
QUESTION = "Who found the Valdora in Brannock Bay?"
CITED = "Magnus Corrigall did [Data: Entities (1, 2); Reports (0); Relationships (3)]"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not COMMAND.exists(), reason=".ci/graphrag_environment was not run"),
]


def script(body: dict[str, Any]) -> str:
    prompt = "\n".join(text_of(message) for message in body["messages"])
    if "list of key points" in prompt:
        return json.dumps({"points": [{"description": CITED, "score": 80}]})
    if "'rating'" in prompt or '"rating"' in prompt:
        return json.dumps({"reason": "It names her.", "rating": 5})
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema" or "'follow_up_queries'" in prompt:
        key = "intermediate_answer" if form.get("type") == "json_schema" else "response"
        return json.dumps({key: CITED, "score": 80, "follow_up_queries": ["Who lent the museum money?"]})
    return CITED


@dataclass
class Exported:
    """An export, the endpoint that is asked over it, and the command."""

    folder: Path
    endpoint: ScriptedEndpoint
    query: Callable[..., str]

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.folder / "output" / f"{name}.parquet")

    def prompts(self) -> str:
        chats = (one.body for one in self.endpoint.requests if "messages" in one.body)
        return "\n".join(text_of(message) for body in chats for message in body["messages"])


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The export of the sample corpus, in its home."""
    pytest.importorskip("lancedb")
    from graphrag_dagster.cli.job_runner import run_job

    home = tmp_path_factory.mktemp("harbour")
    (home / "corpora").mkdir()
    (home / "corpora" / "harbour.path").write_text(
        str(REPOSITORY / "graphrag_dagster" / "sample" / "harbour")
    )
    with pytest.MonkeyPatch.context() as patch:
        enter_home(patch, home)
        run_job("harbour")
        made = export("harbour", "microsoft", home / "out")
        assert not made.lacking
        yield made.folder


@pytest.fixture
def exported(harbour: Path, tmp_path: Path) -> Iterator[Exported]:
    from support.served import serving

    with ScriptedEndpoint(script) as endpoint, serving(None, ServiceSettings(port=0)) as server:
        settings = harbour / "settings.yaml"
        before = settings.read_text()
        settings.write_text(before.replace(SERVER, f"{server}/v1"))

        # What the command needs where there is no network: the vocabularies, and any key.
        own = {"GRAPHRAG_API_KEY": "none", "GRAPHRAG_CHAT_MODEL": "scripted", **write_vocabularies(tmp_path)}
        server_of = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), endpoint.url)

        def query(*arguments: str) -> str:
            told = subprocess.run(
                [str(COMMAND), "query", "--root", str(harbour), *arguments, QUESTION],
                env={**os.environ, **own, **server_of},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert told.returncode == 0, told.stdout + told.stderr
            return told.stdout

        yield Exported(harbour, endpoint, query)
        settings.write_text(before)


def test_local_search_reads_our_rows_and_cites_them(exported: Exported) -> None:
    told = exported.query("--method", "local")
    prompts = exported.prompts()
    entities, reports = exported.table("entities"), exported.table("community_reports")
    numbered = entities.select("human_readable_id", "title").rows()
    shown = [(number, title) for number, title in numbered if f"\n{number}|{title}|" in prompts]
    assert "Valdora" in {title for _, title in shown}
    assert any(
        f"\n{number}|{title}|" in prompts for number, title in reports.select("community", "title").rows()
    )
    edges = exported.table("relationships")
    rows = edges.select("human_readable_id", "source", "target").rows()
    assert any(f"\n{number}|{source}|{target}|" in prompts for number, source, target in rows)
    assert "found the Valdora" in prompts.partition("-----Sources-----")[2]
    known = {
        "entity": set(entities["human_readable_id"]),
        "report": set(reports["community"]),
        "relationship": set(edges["human_readable_id"]),
    }
    cited = parse_citations(told)
    assert cited
    assert all(one.id in known[one.kind] for one in cited)


def test_global_search_reads_our_reports(exported: Exported) -> None:
    told = exported.query("--method", "global", "--community-level", "0")
    prompts, reports = exported.prompts(), exported.table("community_reports")
    tops = reports.filter(pl.col("level") == 0)
    assert all(
        f"\n{number}|{title}|" in prompts for number, title in tops.select("community", "title").rows()
    )
    deeper = reports.filter(pl.col("level") > 0)["title"]
    assert not [title for title in deeper if title not in set(tops["title"]) and f"|{title}|" in prompts]
    assert CITED in told


def test_dynamic_selection_walks_down_our_communities(exported: Exported) -> None:
    told = exported.query("--method", "global", "--dynamic-community-selection")
    reports, prompts = exported.table("community_reports"), exported.prompts()
    for level in (0, 1, 2):
        titles = reports.filter(pl.col("level") == level)["title"]
        assert not len(titles) or any(title in prompts for title in titles)
    assert CITED in told


def test_basic_search_reads_our_text_units(exported: Exported) -> None:
    exported.query("--method", "basic")
    assert "found the Valdora" in exported.prompts()


def test_drift_begins_at_our_reports(exported: Exported) -> None:
    assert CITED in exported.query("--method", "drift")
    prompts = exported.prompts()
    assert any(title in prompts for title in exported.table("community_reports")["title"])
    # By its own shares, what follows reads text units alone, by their numbers.
    units = exported.table("text_units").select("human_readable_id", "text").rows()
    assert any(f"\n{number}|{text[:100]}" in prompts for number, text in units)
