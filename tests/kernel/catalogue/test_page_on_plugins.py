"""The plug-ins of docs/how-to/write-a-plug-in.md, as its reader writes them: nothing but being installed makes them known."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.plugins import install

REPOSITORY = Path(__file__).parents[3]
PAGE = REPOSITORY / "docs" / "how-to" / "write-a-plug-in.md"
QUESTION = "What does the letter say of Piet Lund?"
SETTINGS = f"""
search: {{method: titled}}
questions: {{methods: [titled, SS], ask: ["{QUESTION}"]}}
"""
PLANNED = """
engine: llm
model: {base_url: "http://127.0.0.1:9/v1", name: none}
questions: {methods: [titled, SS], ask: ["Who?"]}
"""
#: Runs where the plug-in is installed; prints what became of it.
SCRIPT = """
import contextlib, io, json, sys
from pathlib import Path

import anyio
from mcp import Client
from starlette.testclient import TestClient

from graphrag_dagster import Index
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.cli import main
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.settings import ServiceSettings
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.mcp_server import make_server
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWERS

folder, settings, planned, question = Path(sys.argv[1]), *sys.argv[2:5]

def command(*arguments):
    sys.argv = ["graphrag-dagster", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main()
        except SystemExit as ended:
            return [ended.code or 0, out.getvalue()]

async def tools():
    async with Client(make_server(Backend(ServiceSettings()))) as client:
        asking = (await client.list_tools()).tools[1]
        return asking.input_schema["properties"]["method"]["description"]

told = {}
told["help"] = command("ask", "--help")
told["plugins"] = command("doctor", "coast", "--json")
schema = CorpusSettings.model_json_schema()["$defs"]["SearchSettings"]["properties"]["method"]
told["settings"] = schema["enum"]
(folder / "corpus.yaml").write_text(planned)
told["plan"] = command("evaluate", "coast", "--plan", "--json")
(folder / "corpus.yaml").write_text(settings.replace("titled", "no_such"))
told["unknown"] = command("ask", "coast", question)
(folder / "corpus.yaml").write_text(settings)
told["asked"] = command("ask", "coast", question, "--json")
with TestClient(make_app(ServiceSettings()), base_url="http://127.0.0.1") as client:
    body = client.get("/openapi.json").json()["components"]["schemas"]["AskBody"]
    told["openapi"] = body["properties"]["method"]
    told["models"] = [one["id"] for one in client.get("/v1/models").json()["data"]]
told["tools"] = anyio.run(tools)
(folder / "corpus.yaml").write_text("search: {engine: first-row, method: titled}")
told["engine"] = command("ask", "coast", question, "--json")
told["engine local"] = command("ask", "coast", question, "--json", "--method", "local")
told["engine C0"] = command("ask", "coast", question, "--json", "--method", "C0")
(folder / "corpus.yaml").write_text(settings)
told["evaluated"] = command("evaluate", "coast", "--yes", "--json")
told["answers"] = Warehouse().read(ANSWERS, "coast").select("method", "answered_by", "refused").rows()
index = Index.open("coast")
told["capitals"] = index.ask(question, method="TITLED").method
try:
    index.ask(question, method="no_such")
except GraphragError as error:
    told["none"] = str(error)
print(json.dumps(told))
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the plug-ins of the page, installed."""
    page = PAGE.read_text("utf-8")
    (project,) = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    told = tomllib.loads(project)
    modules = dict(
        re.findall(r"^```python\n# corpus-extras/(\S+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    )
    folder = tmp_path / "site"
    (folder / "corpus_extras").mkdir(parents=True)
    install(folder, modules, *told["project"]["entry-points"].values(), told["project"]["name"])
    return folder


@pytest.mark.long
def test_a_way_of_answering_in_one_file_is_known_everywhere(coast: Path, site: Path) -> None:
    path = os.pathsep.join([str(site), str(REPOSITORY)])
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    command = [sys.executable, "-c", SCRIPT, coast, SETTINGS, PLANNED, QUESTION]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    listed = "sql, coterag, own-context, graph, paths, titled, or a condition: C0 to C3, TS, SS"
    assert listed in " ".join(told["help"][1].split())
    assert json.loads(told["plugins"][1])["plugins"] == [
        {"name": "corpus-extras", "package": "corpus-extras 1.0", "problem": None},
    ]
    assert {"TS", "SS", "titled"} < set(told["settings"])
    assert told["unknown"][0] == 1
    assert "search.method is 'no_such'; allowed: 'auto'" in ran.stderr
    assert "'titled'" in ran.stderr

    plan = {one["stage"]: one for one in json.loads(told["plan"][1])["stages"]}
    assert plan["answers titled"]["calls"] == plan["answers SS"]["calls"]

    answer = json.loads(told["asked"][1])
    assert (answer["method"], answer["refused"]) == ("titled", False)
    assert {one["evidence"]["path"] for one in answer["sources"]} == {"institute/letter.txt"}
    assert told["capitals"] == "titled"
    assert "titled, " in told["none"]

    for asked in ("engine", "engine local", "engine C0"):
        answer = json.loads(told[asked][1])
        assert answer["engine"] == "first-row"
        assert answer["sources"]

    assert "titled" in told["openapi"]["enum"]
    listed = "titled (the documents whose titles share a word with the question)"
    assert listed in told["openapi"]["description"]
    assert listed in told["tools"]
    assert "coast:titled" in told["models"]

    assert told["evaluated"][0] == 0
    assert [one for one in told["answers"] if one[0] == "titled"] == [["titled", "titled", False]]
    page = (coast.parents[1] / "warehouse" / "reports" / "coast" / "report.html").read_text("utf-8")
    assert "the documents whose titles share a word with the question" in page
