"""Prefixes tell an embedding model what is looked for from where it is looked for; they are never mixed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.planning.indexing_plan import plan_corpus
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.engines import Prefixes
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.coterag.tables import (
    COTERAG_DESCRIPTIONS,
    COTERAG_SUMMARY_VECTORS,
    COTERAG_THRESHOLDS,
)
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint

QUERY, DOCUMENT = "search_query: ", "search_document: "
QUESTION = "Who keeps the lighthouse?"
TEXTS = ["The harbour was dredged in May.", "", "  "]
_SETTINGS = """
coterag: {profile: calibrated}
embeddings: {embedder: endpoint, model: scripted-embeddingPREFIXES}
model: {base_url: "URL", name: scripted}
"""


def test_without_prefixes_nothing_is_different() -> None:
    plain, own = StaticEmbedder(), CorpusEmbedder(StaticEmbedder())
    assert (own.name, own.at_once) == (plain.name, plain.at_once)
    for embed in (own.embed, own.embed_queries):
        assert embed(TEXTS).tobytes() == plain.embed(TEXTS).tobytes()


def test_each_kind_of_text_has_its_prefix_and_a_blank_one_stays_blank() -> None:
    plain, own = StaticEmbedder(), CorpusEmbedder(StaticEmbedder(), Prefixes(QUERY, DOCUMENT))
    for embed, prefix in ((own.embed, DOCUMENT), (own.embed_queries, QUERY)):
        made = embed(TEXTS)
        assert np.array_equal(made[0], plain.embed([prefix + TEXTS[0]])[0])
        assert not made[1:].any()


def test_every_pair_of_prefixes_has_its_name() -> None:
    pairs = [("", ""), ("a", ""), ("", "a"), ("a", "a"), ("a' document_prefix='", ""), ("a", "b")]
    assert len({Prefixes(*pair).named("e") for pair in pairs}) == len(pairs)


@pytest.mark.parametrize("profile", ["paper_raw", "paper_neo4j"])
@pytest.mark.parametrize("key", ["query_prefix", "document_prefix"])
def test_thresholds_of_the_paper_are_refused_with_prefixes(profile: str, key: str) -> None:
    def given(**coterag: Any) -> Any:
        return parse_settings({"coterag": coterag, "embeddings": {key: "q: "}}, "corpus.yaml")

    with pytest.raises(
        SettingsError,
        match=rf"embeddings.{key} is set, but .* coterag.profile {profile} .*; remove .*, or set "
        "coterag.profile to calibrated$",
    ):
        given(profile=profile)
    assert given(profile="calibrated").embeddings.prefixes != Prefixes()
    assert given(profile=profile, enabled=False)


def index(corpus: Path, endpoint: ScriptedEndpoint, prefixes: str) -> list[str]:
    """Index with these keys of the section; gives the texts that were sent for it."""
    settings = _SETTINGS.replace("URL", endpoint.url).replace("PREFIXES", prefixes)
    (corpus / "corpus.yaml").write_text(settings)
    before = len(sent(endpoint))
    run_job(corpus.name)
    return sent(endpoint)[before:]


def sent(endpoint: ScriptedEndpoint) -> list[str]:
    bodies = [one.body for one in endpoint.requests if one.path.endswith("/embeddings")]
    return [text for body in bodies for text in body["input"]]


def asked() -> Answer:
    return Index.open("coast").ask(QUESTION, method="basic")


@pytest.mark.long
def test_an_index_and_its_questions_are_embedded_with_their_prefixes(home: Path) -> None:
    corpus = write_corpus(home / "corpora")
    both = f', query_prefix: "{QUERY}", document_prefix: "{DOCUMENT}"'
    with ScriptedEndpoint() as endpoint:
        plain = index(corpus, endpoint, "")
        assert not [text for text in plain if text.startswith((QUERY, DOCUMENT))]
        prefixed = index(corpus, endpoint, both)
        documents = {text.removeprefix(DOCUMENT) for text in prefixed if text.startswith(DOCUMENT)}
        pseudo_questions = {text.removeprefix(QUERY) for text in prefixed if text.startswith(QUERY)}
        assert len(documents) + len(pseudo_questions) == len(prefixed)
        assert documents | pseudo_questions == set(plain)
        warehouse = Warehouse()
        units = set(warehouse.read(tables.TEXT_CHUNKS, "coast")["text"])
        descriptions = set(warehouse.read(COTERAG_DESCRIPTIONS, "coast")["description"])
        assert units | descriptions <= documents
        assert set(warehouse.read(tables.ENTITIES, "coast")["title"]) & pseudo_questions
        name = f"endpoint:scripted-embedding query_prefix={QUERY!r} document_prefix={DOCUMENT!r}"
        for table in (tables.TEXT_UNIT_EMBEDDINGS, COTERAG_SUMMARY_VECTORS, COTERAG_THRESHOLDS):
            assert set(warehouse.read(table, "coast")["embedder"]) == {name}
        asked()
        assert sent(endpoint)[-1] == QUERY + QUESTION
        Index.open("coast").ask("Where is it kept?", method="coterag")
        assert sent(endpoint)[-1] == f"{QUERY}Where is it kept?"
        [planned] = plan_corpus("coast").estimates
        assert planned.cached == len(units)

        (corpus / "corpus.yaml").write_text(_SETTINGS.replace("URL", endpoint.url).replace("PREFIXES", ""))
        assert "found by words alone" in asked().why
        assert index(corpus, endpoint, "") == []
