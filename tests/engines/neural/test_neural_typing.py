"""A model types what GLiNER did not find, in a corpus: once, foretold, and again where it is to be."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.engines.neural.neural_extractor import NeuralGraphExtractor
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.endpoint import Scripted, ScriptedEndpoint, name_pattern_script
from support.neural_checkpoints import LABELS, TAUGHT
from support.scripted_typing import names_in, typing_reply

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("gliner"), reason="an optional extra")
TEXT = list(TAUGHT)[-1]
NAME = "HYDROXYCHLOROQUINE"


@pytest.fixture
def write(home: Path, gliner: Path, rebel: Path) -> Callable[..., None]:
    folder = home / "corpora" / "trials"
    folder.mkdir(parents=True)

    def settings(endpoint: ScriptedEndpoint, **more: Any) -> None:
        (folder / "0.txt").write_text(TEXT, encoding="utf-8")
        own = {
            "extraction": {
                "engine": "gliner-rebel",
                "gliner": {"model": str(gliner), "labels": list(LABELS)},
                "rebel": {"model": str(rebel), "batch": 2},
            },
            "model": {"base_url": endpoint.url, "name": "scripted", "retries": 1},
            **more,
        }
        # JSON is YAML.
        (folder / "corpus.yaml").write_text(json.dumps(own), encoding="utf-8")

    return settings


def decided() -> list[tuple[str, str, str]]:
    rows = Warehouse().read(tables.TYPINGS, "trials").select("name", "type", "decided_by")
    return list(rows.iter_rows())


def kind() -> str:
    [row] = Warehouse().read(tables.ENTITIES, "trials").filter(name=NAME).to_dicts()
    return str(row["type"])


def planned(run: Run) -> dict[str, Any]:
    code, out, err = run("plan", "trials", "--json")
    assert code == 0, err
    return {one["stage"]: one for one in json.loads(out)["stages"]}


def test_a_model_is_asked_once_and_without_it_there_is_no_type(
    write: Callable[..., None], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = "city"
    texts: list[str] = []
    extract = NeuralGraphExtractor.extract

    def noting(self: Any, units: Any) -> Any:
        texts.extend(unit.text for unit in units)
        return extract(self, units)

    def script(body: dict[str, Any]) -> Scripted | str:
        return typing_reply(body, lambda _: says) or name_pattern_script(body)

    monkeypatch.setattr(NeuralGraphExtractor, "extract", noting)
    with ScriptedEndpoint(script) as endpoint:

        def asked() -> list[list[str]]:
            return [names for one in endpoint.chats if (names := names_in(one.body)) is not None]

        write(endpoint)
        assert run("index", "trials")[0] == 0
        assert (decided(), kind(), asked()) == ([(NAME, "UNKNOWN", "nothing")], "UNKNOWN", [])
        assert "typing" not in planned(run)

        write(endpoint, typing={"engine": "llm"})
        foretold = planned(run)["typing"]
        assert (foretold["task"], foretold["calls"]["low"], foretold["calls"]["high"]) == (
            "type_entities",
            1,
            1,
        )
        code, out, err = run("index", "trials")
        assert code == 0, out + err
        assert (decided(), kind()) == ([(NAME, "CITY", "model")], "CITY")
        assert asked() == [["Hydroxychloroquine"]]
        assert planned(run)["typing"]["cached"] == 1
        used = Warehouse().read(tables.MODEL_USAGE, "trials")
        assert ("extraction", "type_entities") in set(used.select("asset", "task").iter_rows())

        assert run("index", "trials", "--again")[0] == 0
        assert len(asked()) == 1
        assert (decided(), texts) == ([(NAME, "CITY", "model")], [TEXT])

        write(endpoint)
        assert run("index", "trials")[0] == 0
        assert (decided(), kind(), texts) == ([(NAME, "UNKNOWN", "nothing")], "UNKNOWN", [TEXT])


def test_where_no_reply_can_be_used_there_is_no_type_and_it_is_said(
    write: Callable[..., None], run: Run
) -> None:
    def script(body: dict[str, Any]) -> Scripted | str:
        return name_pattern_script(body) if names_in(body) is None else "I would rather write a poem."

    with ScriptedEndpoint(script) as endpoint:
        write(endpoint, typing={"engine": "llm"})
        code, out, _ = run("index", "trials", "--json")
        assert code == 3
        told = "1 entities were left without a type: see problem in extraction.typings"
        assert json.loads(out)["missing"] == [told]
        assert decided() == [(NAME, "UNKNOWN", "nothing")]
