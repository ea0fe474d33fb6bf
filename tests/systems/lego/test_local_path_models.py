"""Models on this machine that score paths, and that learn to."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.systems.lego.retrieval.hidden_states import HiddenStateEmbedder
from graphrag_dagster.systems.lego.retrieval.path_retrievers import retriever_of
from graphrag_dagster.systems.lego.retrieval.scorer_registry import scorer_of
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, Switches
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.training.bi_encoder_training import Training, fine_tune, nearest_share
from graphrag_dagster.systems.lego.training.gold_paths import GoldPath
from support.path_graphs import graph_of, node
from support.verbalising import texts_of

INSTALLED = bool(importlib.util.find_spec("sentence_transformers"))
TRAINABLE = INSTALLED and bool(
    importlib.util.find_spec("datasets") and importlib.util.find_spec("accelerate")
)
needs_extra = pytest.mark.skipif(not INSTALLED, reason="an optional extra")
needs_training = pytest.mark.skipif(not TRAINABLE, reason="an optional extra")

WORDS = "who wrote directed painted the film book picture Ada Bo Cy Di Ed Flo written_by directed_by - > by _"
PATHS = texts_of("film -> directed_by -> Ada", "book -> written_by -> Bo", "picture -> painted -> Cy")


@needs_extra
def test_a_cross_encoder_scores_each_path_for_itself(tmp_path: Path) -> None:
    from support.cross_encoders import saved_model

    folder = str(saved_model(tmp_path / "ranker", ["LABEL_0"], words=WORDS))
    scorer = scorer_of("cross-encoder", model=folder)
    scores = scorer.scores("who directed the film", PATHS)
    assert len(set(scores.tolist())) == 3
    assert scorer.scores("who directed the film", PATHS.at([2])).tolist() == [scores[2]]
    assert scorer.name.startswith("cross-encoder/ranker@")
    assert scorer.tokens(PATHS) > 0


@needs_extra
def test_the_packaged_minilm_knows_what_directed_by_is_about() -> None:
    scorer = scorer_of("minilm")
    assert scorer.scores("who directed the film?", PATHS).argmax() == 0
    assert scorer.name.startswith("sentence-transformers/all-MiniLM-L6-v2")
    assert scorer_of("minilm") is scorer


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_without_the_extra_the_error_names_the_setting_that_wants_it() -> None:
    with pytest.raises(EngineError, match=r"^paths\.scorer is minilm, but .*\[sentence-transformers\]"):
        _ = scorer_of("minilm").name


@needs_extra
def test_hidden_states_are_the_mean_over_tokens(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from support.tiny_models import saved_encoder

    folder = str(saved_encoder(tmp_path / "tiny", WORDS))
    embedder = HiddenStateEmbedder(folder)
    texts = ["the film", "who wrote the book by Ada", "", "Cy " * 200]
    vectors = embedder.embed(texts)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        # Together with a longer text, so that there is padding to leave out.
        read = tokenizer(texts[:2], padding=True, return_tensors="pt")
        mask = read["attention_mask"][..., None]
        states = (model(**read).last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1)
        wanted = torch.nn.functional.normalize(states).numpy()
    assert vectors[:2] == pytest.approx(wanted, abs=1e-5)
    assert not vectors[2].any()
    assert np.linalg.norm(vectors[3]) == pytest.approx(1, abs=1e-6)
    assert embedder.name.startswith("hidden-states/tiny@")
    other = HiddenStateEmbedder(str(saved_encoder(tmp_path / "other" / "tiny", WORDS, seed=2)))
    assert other.name != embedder.name


@needs_extra
def test_paths_can_be_ranked_by_hidden_states(tmp_path: Path) -> None:
    from support.tiny_models import saved_encoder

    store = graph_of([("film", "directed_by", "Ada"), ("film", "written_by", "Bo")])
    seeds = (node(store, "film"),)
    options = PathOptions(
        judged="llm",
        direction="out",
        switches=Switches(llm_embeddings=True),
        llm_embeddings_model=str(saved_encoder(tmp_path / "tiny", WORDS)),
    )
    query, subgraph = (
        PathQuery("film -> written_by -> Bo", seeds),
        Subgraph.of_edges(store, np.arange(2), seeds),
    )
    got = retriever_of(options, store).retrieve(query, subgraph)
    assert got.paths.verbalised.texts[0] == "film -> written_by -> Bo"
    assert got.paths.scores[0] == pytest.approx(1, abs=1e-6)
    assert (got.use.scored, got.use.usage.calls) == (2, 0)


@needs_extra
def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="llm_embeddings_model"):
        HiddenStateEmbedder(str(tmp_path)).name  # noqa: B018 - the name is made of the weights.
    with pytest.raises(EngineError, match="cannot be loaded"):
        HiddenStateEmbedder(str(tmp_path)).embed(["x"])


PAIRS = [
    GoldPath(f"who directed the film {name}", name, f"film -> directed_by -> {name}")
    for name in ("Ada", "Bo", "Cy")
] + [
    GoldPath(f"who wrote the book {name}", name, f"book -> written_by -> {name}")
    for name in ("Di", "Ed", "Flo")
]


@needs_training
def test_a_bi_encoder_learns_which_paths_answer(tmp_path: Path) -> None:
    from support.tiny_models import saved_sentence_transformer

    base = str(saved_sentence_transformer(tmp_path, WORDS))
    training = Training(base, epochs=40, batch=6, rate=1e-2)
    made = fine_tune(PAIRS, PAIRS, tmp_path / "tuned", training)
    assert (made.pairs, made.steps) == (6, 40)
    assert made.seconds > 0
    assert made.before is not None
    assert made.after is not None
    assert made.after > made.before
    assert made.after == nearest_share(str(made.folder), PAIRS)
    scorer = scorer_of("minilm", model=str(made.folder))
    candidates = texts_of("film -> directed_by -> Ada", "book -> written_by -> Ed")
    assert scorer.scores("who wrote the book Ed", candidates).argmax() == 1
    assert made.left_out == 0
    again = fine_tune(PAIRS, [], tmp_path / "again", training)
    assert (again.loss, again.before, again.after) == (made.loss, None, None)


@needs_training
def test_paths_that_lead_elsewhere_are_told_from_those_that_answer(tmp_path: Path) -> None:
    from support.tiny_models import saved_sentence_transformer

    names = ("Ada", "Bo", "Cy", "Di", "Ed", "Flo")
    pairs = [
        GoldPath(f"who {verb} the film {name}", name, f"{name} -> {verb}_by", (f"{name} -> {other}_by",))
        for name in names
        for verb, other in (("directed", "written"), ("written", "directed"))
    ]
    base = str(saved_sentence_transformer(tmp_path, f"{WORDS} written directed"))
    training = Training(base, epochs=60, batch=6, rate=1e-2)
    made = fine_tune([*pairs, GoldPath("who", "x", "alone")], pairs, tmp_path / "tuned", training)
    assert (made.pairs, made.left_out) == (12, 1)
    assert made.before is not None
    assert made.after is not None
    assert made.after > max(made.before, 0.9)


@needs_training
def test_a_base_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be loaded for fine-tuning"):
        fine_tune(PAIRS, [], tmp_path / "tuned", replace(Training(), base=str(tmp_path)))


def test_one_pair_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="two pairs"):
        fine_tune(PAIRS[:1] * 3, [], tmp_path)
    assert nearest_share("", []) is None
