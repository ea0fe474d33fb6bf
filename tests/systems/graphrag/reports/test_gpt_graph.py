import importlib.util
import re
from pathlib import Path

import pytest

from graphrag_dagster.kernel.graph.hierarchical_leiden import check_partition, levels
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "../shared/data/msft_graphrag/verbs_data"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published graph is not beside the checkout")


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("gpt_graph", ROOT / "benchmarks/gpt_graph.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def graph(benchmark):
    return benchmark.load(FOLDER)


@pytest.fixture(scope="module")
def hierarchy(benchmark, graph):
    return benchmark.cluster(graph[1])


def test_a_graph_made_by_a_model_has_levels_that_are_partitions(graph, hierarchy) -> None:
    tables.ENTITIES.validated(graph[0])
    tables.RELATIONSHIPS.validated(graph[1])
    tables.COMMUNITIES.validated(hierarchy.communities)
    assert hierarchy.communities["level"].max() >= 1
    of_levels = tables.COMMUNITY_LEVELS.validated(levels(hierarchy.communities, hierarchy.members))
    assert check_partition(of_levels, hierarchy.members) == []


@pytest.mark.parametrize("budget", [8000, 2000, 500, 60])
def test_no_real_context_exceeds_its_budget(benchmark, graph, hierarchy, budget: int) -> None:
    tokens = get_tokenizer("cl100k_base")
    packed = benchmark.pack_all(*graph, hierarchy, tokens, budget)
    assert len(packed) == len(hierarchy.communities)
    for context in packed.values():
        assert context.tokens == tokens.count(context.text) <= budget
        assert context.text


def test_the_tokens_of_rows_and_headers_add_up(benchmark, graph, hierarchy) -> None:
    tokens = get_tokenizer("cl100k_base")
    for context in benchmark.pack_all(*graph, hierarchy, tokens, 8000).values():
        pieces = re.split(r"(?m)^(?=\d+,|-----)", context.text)
        assert sum(map(tokens.count, pieces)) == context.tokens
