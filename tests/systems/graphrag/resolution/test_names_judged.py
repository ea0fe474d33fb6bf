"""A corpus of which a model rules on the names that the rules leave open; the rest is extractive."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.usage_tables import MODEL_USAGE
from graphrag_dagster.resources.dagster_instance import instance
from graphrag_dagster.resources.dagster_keys import asset_key
from graphrag_dagster.systems.graphrag.resolution.tables import DECISIONS
from support.commands import Run
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.scripted_names import pairs_in, ruling_reply

TEXTS = {
    "crossing.txt": "Bethia Mouat met Agnes Mouat in Port Ellery. Bethia Mouat owned a boat. Later Mouat sailed to "
    "Norway alone.",
    "shipping.txt": "Orrin Vask worked for Brinefield Shipping in Port Ellery. Brinefield Shipping built boats.",
    "lawsuit.txt": "Selma Dray sued Brinefeild Shipping in Port Ellery. The court dismissed Brinefeild Shipping.",
}
SETTINGS = """
resolution: {RESOLUTION}
text_units: {strategy: sentences, size: 60, overlap: 0}
model: {base_url: "URL", name: scripted, retries: 1, prices: {input: 2.0, output: 8.0}}
"""
AGNES, BETHIA = ("Agnes Mouat", "Mouat"), ("Bethia Mouat", "Mouat")
SHIPPING = ("Brinefeild Shipping", "Brinefield Shipping")
RULINGS = {AGNES: "different", BETHIA: "same", SHIPPING: "unsure"}


def write(
    home: Path,
    server: ScriptedEndpoint,
    resolution: str = "engine: llm",
    texts: Mapping[str, str] = TEXTS,
) -> None:
    folder = home / "corpora" / "names"
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = SETTINGS.replace("URL", server.url).replace("RESOLUTION", resolution)
    (folder / "corpus.yaml").write_text(settings, encoding="utf-8")


def script(rulings: Mapping[tuple[str, str], str] = RULINGS) -> Callable[[dict[str, Any]], Scripted | str]:
    def reply(body: dict[str, Any]) -> Scripted | str:
        return ruling_reply(body, lambda *pair: rulings.get(pair, "different")) or name_pattern_script(body)

    return reply


def asked(server: ScriptedEndpoint) -> list[list[tuple[str, str]]]:
    return [pairs for one in server.chats if (pairs := pairs_in(one.body)) is not None]


def decided() -> dict[tuple[str, str], tuple[str, str]]:
    rows = Warehouse().read(DECISIONS, "names").select("one", "other", "verdict", "decided_by")
    return {(one, other): (verdict, by) for one, other, verdict, by in rows.iter_rows()}


def entities() -> set[str]:
    return set(Warehouse().read(tables.ENTITIES, "names")["name"])


def told() -> dict[str, Any]:
    with instance() as records:
        made = records.get_latest_materialization_event(asset_key(DECISIONS))
    assert made is not None
    assert made.asset_materialization is not None
    return {name: one.value for name, one in made.asset_materialization.metadata.items()}


def summary() -> dict[str, float]:
    rows = Warehouse().read(tables.CORPUS_SUMMARY, "names").filter(area="resolution")
    return dict(rows.select("measure", "value").iter_rows())


@pytest.mark.long
def test_what_a_model_says_decides_and_is_asked_once(run: Run, home: Path) -> None:
    with ScriptedEndpoint(script()) as server:
        write(home, server)
        code, _, err = run("index", "names")
        assert code == 0, err
        assert asked(server) == [[AGNES, BETHIA], [SHIPPING]]
        assert decided() == {
            AGNES: ("apart", "model"),
            BETHIA: ("merge", "model"),
            SHIPPING: ("ask", "model"),
        }
        assert {"AGNES MOUAT", "BETHIA MOUAT", "BRINEFEILD SHIPPING", "BRINEFIELD SHIPPING"} <= entities()
        assert "MOUAT" not in entities()
        counts = {"asked": 3, "same": 1, "different": 1, "unsure": 1, "problems": 0, "repaired": 0}
        assert counts.items() <= told().items()
        assert told()["model_calls"] == 3, "two calls and the small question before them"
        assert summary()["pairs ruled by a model"] == 3
        used = Warehouse().read(MODEL_USAGE, "names")
        assert set(used.select("asset", "task").iter_rows()) == {
            ("resolution", "probe"),
            ("resolution", "judge_names"),
        }

        write(home, server, "engine: llm, different: [[Orrin Vask, Selma Dray]]")
        code, _, err = run("index", "names")
        assert code == 0, err
        assert len(asked(server)) == 2
        assert told()["cached_replies"] == 2
        assert (told()["model_calls"], told()["same"]) == (0, 1)


def shown(server: ScriptedEndpoint) -> list[str]:
    prompts = [
        str(one.body["messages"][1]["content"]) for one in server.chats if pairs_in(one.body) is not None
    ]
    return [line for prompt in prompts for line in prompt.splitlines() if line[:1].isdigit()]


@pytest.mark.long
def test_a_name_is_shown_where_it_stands(run: Run, home: Path) -> None:
    waves = "and the waves were high, and the wind was cold; " * 20
    more = f"It was told {waves}that the court heard Brinefeild Shipping {waves}in Port Ellery."
    with ScriptedEndpoint(script()) as server:
        write(
            home, server, texts={**TEXTS, "lawsuit.txt": f"{TEXTS['lawsuit.txt']} {more}", "more.txt": more}
        )
        code, _, err = run("index", "names")
        assert code == 0, err
        lines = shown(server)
    assert lines[:10] == [
        "1. Two names of one document",
        "1. A: Agnes Mouat (PERSON)",
        "1. A occurs in: Bethia Mouat met Agnes Mouat in Port Ellery.",
        "1. B: Mouat (PERSON)",
        "1. B occurs in: Later Mouat sailed to Norway alone.",
        "2. Two names of one document",
        "2. A: Bethia Mouat (PERSON)",
        "2. A occurs in: Bethia Mouat met Agnes Mouat in Port Ellery.",
        "2. A occurs in: Bethia Mouat owned a boat.",
        "2. B: Mouat (PERSON)",
    ]
    told_of = [line.partition(" occurs in: ")[2] for line in lines[11:] if line.startswith("1. A occurs")]
    assert len(told_of) == 2, "one sentence of each document"
    assert "Selma Dray sued Brinefeild Shipping in Port Ellery." in told_of
    (long,) = (one for one in told_of if one.startswith("…"))
    assert long.endswith("…")
    assert "Brinefeild Shipping" in long
    assert len(long) < 250


@pytest.mark.long
def test_names_of_one_document_are_asked_about_once(run: Run, home: Path) -> None:
    both = "Orrin Vask sold Brinefield Shipping. Selma Dray sued Brinefeild Shipping in Port Ellery."
    with ScriptedEndpoint(script()) as server:
        write(home, server, texts={"both.txt": both})
        code, _, err = run("index", "names")
        assert code == 0, err
        assert asked(server) == [[SHIPPING]]
        verdicts = Warehouse().read(DECISIONS, "names").select("document_id", "verdict", "decided_by")
        assert verdicts["document_id"].null_count() == 1
        assert set(verdicts.drop("document_id").iter_rows()) == {("ask", "model")}
        assert told()["asked"] == 1


@pytest.mark.long
def test_what_a_person_says_is_not_asked(run: Run, home: Path) -> None:
    with ScriptedEndpoint(script()) as server:
        write(home, server, f"engine: llm, same: [{list(SHIPPING)}], different: [{list(BETHIA)}]")
        code, _, err = run("index", "names")
        assert code == 0, err
        assert asked(server) == [[AGNES]]
    assert decided()[SHIPPING] == ("merge", "person")
    assert "MOUAT" in entities()


@pytest.mark.long
@pytest.mark.parametrize(
    "resolution",
    ["", pytest.param("engine: extractive", marks=pytest.mark.long), "engine: llm, enabled: false"],
)
def test_without_a_model_nothing_is_asked(run: Run, home: Path, resolution: str) -> None:
    with ScriptedEndpoint(script()) as server:
        write(home, server, resolution)
        code, _, err = run("index", "names")
        assert code == 0, err
        assert json.loads(run("plan", "names", "--json")[1])["stages"] == []
        assert server.requests == []
    assert "asked" not in told()
    assert {by for _, by in decided().values()} <= {"rule"}


@pytest.mark.long
def test_nonsense_leaves_pairs_open_is_told_and_asked_again(run: Run, home: Path) -> None:
    sane = False

    def poet(body: dict[str, Any]) -> Scripted | str:
        poem = not sane and SHIPPING in (pairs_in(body) or [])
        return "I would rather write a poem." if poem else script({BETHIA: "same", SHIPPING: "same"})(body)

    with ScriptedEndpoint(poet) as server:
        write(home, server)
        code, out, err = run("index", "names", "--json")
        assert code == 3, err
        assert any("1 pairs of names are left open" in line for line in json.loads(out)["missing"])
        assert decided()[SHIPPING] == ("ask", "rule")
        assert decided()[BETHIA] == ("merge", "model")
        assert (told()["problems"], told()["asked"]) == (1, 3)
        assert summary()["pairs with a problem"] == 1
        problems = Warehouse().read(DECISIONS, "names")["problem"].drop_nulls().to_list()
        assert problems[0].startswith("no usable reply of the model: ")
        sane, before = True, len(asked(server))
        code, _, err = run("index", "names")
        assert code == 0, err
        assert asked(server)[before:] == [[SHIPPING]]
    assert decided()[SHIPPING] == ("merge", "model")
    assert "BRINEFEILD SHIPPING" not in entities()


def test_a_mended_reply_is_counted(run: Run, home: Path) -> None:
    def untidy(body: dict[str, Any]) -> Scripted | str:
        ruling = ruling_reply(body)
        return f"{ruling[:-2]},]}}" if ruling else name_pattern_script(body)

    with ScriptedEndpoint(untidy) as server:
        write(home, server)
        code, out, err = run("index", "names", "--json")
    assert code == 0, err
    assert json.loads(out)["repaired"] == {"pairs of names": 3}
    assert (told()["repaired"], summary()["pairs repaired"]) == (3, 3)


def test_an_endpoint_that_refuses_and_a_limit_end_the_run(run: Run, home: Path) -> None:
    with ScriptedEndpoint(faults=lambda *_: Fault(401)) as closed:
        write(home, closed)
        code, _, err = run("index", "names")
        assert code == 1
        assert "401" in err
    with ScriptedEndpoint(script()) as server:
        write(home, server)
        code, _, err = run("index", "names", "--max-tokens", "100")
        assert code == 4, err
        assert asked(server) == []


@pytest.mark.long
def test_one_more_document_asks_little(run: Run, home: Path) -> None:
    family = (
        "Adair",
        "Bruce",
        "Craig",
        "Dunbar",
        "Elliot",
        "Forbes",
        "Gordon",
        "Hamilton",
        "Innes",
        "Jardine",
    )
    given = (("Walter", "Martha"), ("Edwin", "Harriet"), ("Arthur", "Florence"))
    texts = {
        f"{name}{number}.txt": f"{one} {name} met {two} {name} in Port Ellery. {one} {name} owned a boat. Later "
        f"{name} sailed to Norway alone."
        for number, (one, two) in enumerate(given)
        for name in family
    }
    with ScriptedEndpoint(script({})) as server:
        write(home, server, texts=texts)
        code, _, err = run("index", "names")
        assert code == 0, err
        calls, pairs = len(asked(server)), sum(map(len, asked(server)))
        assert pairs > 3 * len(family)
        assert calls <= pairs / 10 + 2
        write(home, server, texts={"crossing.txt": TEXTS["crossing.txt"]})
        code, _, err = run("index", "names")
        assert code == 0, err
        more = asked(server)[calls:]
        assert {AGNES, BETHIA} <= {pair for batch in more for pair in batch}
        assert len(more) <= 2


@pytest.mark.long
def test_a_plan_knows_the_pairs_of_the_index_and_guesses_others(run: Run, home: Path) -> None:
    def planned() -> dict[str, Any]:
        code, out, err = run("plan", "names", "--json")
        assert code == 0, err
        (stage,) = (one for one in json.loads(out)["stages"] if one["stage"] == "resolution")
        return dict(stage)

    with ScriptedEndpoint(script()) as server:
        write(home, server)
        guessed = planned()
        assert guessed["calls"]["low"] < guessed["calls"]["expected"] < guessed["calls"]["high"]
        assert guessed["usd"]["expected"] > 0
        assert server.requests == []
        assert run("index", "names")[0] == 0
        known = planned()
        assert (known["cached"], known["calls"]["high"], known["tokens"]["high"]) == (2, 0, 0)
        (home / "cache" / "replies.sqlite").unlink()
        forgotten = planned()
        assert forgotten["calls"]["low"] == forgotten["calls"]["high"] == 2
        assert forgotten["cached"] == 0
        write(
            home, server, texts={"more.txt": "Hanna Quill met Orrin Vask in Skerry Point. Later Quill left."}
        )
        assert planned()["calls"]["high"] > 2
        assert len(asked(server)) == 2
