"""The public API of GraphRAG for other systems; they import nothing else from it."""

from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample as WorkedExample
from graphrag_dagster.systems.graphrag.llm.query_writing import LlmContextWriter as LlmContextWriter
from graphrag_dagster.systems.graphrag.search.context_builder import ContextBuilder as ContextBuilder
from graphrag_dagster.systems.graphrag.search.graph_facts import Fact as Fact
from graphrag_dagster.systems.graphrag.search.graph_facts import Key as Key
from graphrag_dagster.systems.graphrag.search.graph_facts import answered_at_once as answered_at_once
from graphrag_dagster.systems.graphrag.search.graph_facts import entities_of as entities_of
from graphrag_dagster.systems.graphrag.search.graph_facts import fact_row as fact_row
from graphrag_dagster.systems.graphrag.search.graph_facts import facts_of as facts_of
from graphrag_dagster.systems.graphrag.search.graph_query_templates import edges_of as edges_of
from graphrag_dagster.systems.graphrag.search.local_search import ENTITIES as ENTITIES
from graphrag_dagster.systems.graphrag.search.local_search import HEADERS as HEADERS
from graphrag_dagster.systems.graphrag.search.map_reduce import finish_answer as finish_answer
from graphrag_dagster.systems.graphrag.search.search_estimates import one_call as one_call
from graphrag_dagster.systems.graphrag.settings import CommunitySettings as CommunitySettings
from graphrag_dagster.systems.graphrag.tasks import ANSWERER as ANSWERER
