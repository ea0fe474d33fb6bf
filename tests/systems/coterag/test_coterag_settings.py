"""The section ``coterag`` of ``corpus.yaml``."""

from typing import Any

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings


def parsed(**section: Any) -> CorpusSettings:
    return parse_settings({"coterag": section}, "corpus.yaml")


@pytest.mark.parametrize(
    ("section", "on"),
    [
        ({}, False),
        ({"profile": "calibrated"}, True),
        ({"hops": 3}, True),
        ({"enabled": True}, True),
        ({"enabled": False, "profile": "paper_raw"}, False),
    ],
)
def test_it_is_on_where_it_says_anything(section: dict[str, Any], on: bool) -> None:
    settings = parsed(**section)
    assert settings.does("coterag") is settings.coterag.enabled is on
    assert parse_settings(settings.model_dump(), "again") == settings
    assert not CorpusSettings().coterag.enabled


def test_a_profile_of_the_paper_ranks_as_the_paper_does() -> None:
    assert parsed(profile="calibrated").coterag.ranked_by == "terms"
    for profile in ("paper_raw", "paper_neo4j"):
        assert parsed(profile=profile).coterag.ranked_by == "similarity"
        assert parsed(profile=profile, order="terms").coterag.ranked_by == "terms"


def test_the_third_paper_in_one_key() -> None:
    paper = parse_settings({"profile": "paper_003"}, "corpus.yaml")
    assert (paper.engine, paper.engine_of("extraction"), paper.engine_of("reports")) == (
        "llm",
        "gliner-rebel",
        "extractive",
    )
    units = paper.text_units
    assert (units.strategy, units.size, units.overlap) == ("characters", 200, 20)
    assert paper.typing.enabled
    assert not paper.resolution.enabled
    answer = paper.model.for_role("answer")
    assert (answer.temperature, answer.max_output_tokens) == (0.6, 1024)
    assert paper.model.for_role("summarise").temperature == 0
    assert (paper.coterag.profile, paper.coterag.ranked_by, paper.coterag.overview) == (
        "paper_raw",
        "similarity",
        True,
    )
    assert paper.questions.methods == ["coterag", "coterag-no-communities", "own-context"]
    testset = paper.questions.testset
    assert (testset.enabled, testset.documents, testset.per_document) == (True, 10, 3)
    assert (paper.search.method, paper.evaluation.baseline) == ("coterag", "coterag")


def test_the_third_paper_without_a_model_leaves_out_what_needs_one() -> None:
    given = {"profile": "paper_003", "engine": "extractive", "extraction": {"engine": "extractive"}}
    with pytest.raises(SettingsError, match="own-context needs a model"):
        parse_settings(given, "corpus.yaml")
    paper = parse_settings({**given, "questions": {"methods": ["coterag"]}}, "corpus.yaml")
    assert not paper.typing.enabled
    assert not paper.questions.testset.enabled
    other = parse_settings({"profile": "paper_003", "extraction": {"engine": "llm"}}, "corpus.yaml")
    assert not other.typing.enabled
    tokens = parse_settings({"profile": "paper_003", "text_units": {"strategy": "tokens"}}, "corpus.yaml")
    assert (tokens.text_units.size, tokens.text_units.overlap) == (600, 100)


def test_without_a_word_it_is_as_the_paper_has_it() -> None:
    own = parsed().coterag
    assert (own.coverage, own.coverage_unit, own.term_weights, own.summaries) == (
        "class",
        "words",
        "none",
        "all",
    )
    assert (own.communities, own.entities, own.hops, own.triples, own.chunks) == (3, 10, 5, 30, 5)
    assert (own.fallback.rounds, own.fallback.chunks) == (2, 5)
    assert [own.fallback.entities_of(one) for one in (1, 2)] == [10, 20]


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"profile": "off"}, "coterag.profile is 'off'; allowed: 'calibrated', 'paper_raw' or 'paper_neo4j'"),
        ({"thresholds": {"chunk": -0.1}}, "coterag.thresholds.chunk: should be greater than or equal to 0"),
        ({"thresholds": {"coverage": 1}}, "coterag.thresholds.coverage: should be less than 1"),
        (
            {"thresholds": {"chunk": 0.5, "entity": 0.4}},
            r"coterag: thresholds: entity \(0.4\) must be at least chunk \(0.5\): raise the one or lower the other",
        ),
        (
            {"thresholds": {"fallback": 0.5, "community": 0.5}},
            r"fallback \(0.5\) must be above community \(0.5\)",
        ),
        (
            {"thresholds": {"traversal": 0.6, "entity": 0.5}},
            r"entity \(0.5\) must be at least traversal \(0.6\)",
        ),
        (
            {"profile": "paper_raw", "thresholds": {"fallback": 0.7}},
            r"fallback \(0.7\) must be above entity \(0.75\)",
        ),
        (
            {"thresholds": {"community": 0.3, "covered": 0.4}},
            r"community \(0.3\) must be at least covered \(0.4\)",
        ),
        (
            {"quantiles": {"chunk": 0.05}},
            r"coterag.quantiles: chunk \(0.05\) must be at least community \(0.9\)",
        ),
        ({"fallback": {"entities": 30}}, r"most_entities \(20\) must be at least entities \(30\)"),
        ({"match": "C9"}, "coterag.match is 'C9'; allowed: 'own', 'C0', 'C1', 'C2' or 'C3'"),
        ({"hops": True}, "coterag.hops: true and false are not allowed here"),
        ({"hop": 3}, "coterag.hop is not a setting; did you mean hops"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(section: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        parsed(**section)


def test_the_papers_own_order_is_allowed() -> None:
    assert parsed(profile="paper_raw").coterag.thresholds.explicit_values() == {"coverage": 0.51}
    assert parsed(profile="paper_neo4j", thresholds={"community": 0.9}).coterag.enabled
    assert parsed(thresholds={"community": 0.3}).coterag.thresholds.explicit_values()["community"] == 0.3
