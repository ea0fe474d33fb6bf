"""An asset's code version changes when, and only when, something changes that decides its result."""

import ast
import shutil
from pathlib import Path

import pytest

import graphrag_dagster
from graphrag_dagster.assets import ASSETS
from graphrag_dagster.assets.evaluating.answers import options_code
from graphrag_dagster.assets.evaluating.paths import path_options_code
from graphrag_dagster.orchestration.code_versions.closure import Sources
from graphrag_dagster.orchestration.code_versions.definitions import Module
from graphrag_dagster.orchestration.code_versions.rooms import GIVEN, PARTS
from graphrag_dagster.orchestration.code_versions.versions import (
    CodeVersions,
    prompts_by_task,
    subjects,
)

PACKAGE = Path(graphrag_dagster.__file__).parent
options_code()
path_options_code()
SUBJECTS = subjects()

#: Functions that are known to be called when an asset is made, the deeper the better; by asset key.
CALLED = {
    "imports/files": "core/corpus/graphs/files.py:graph_files",
    "imports/documents": "core/corpus/graphs/stores.py:store_batches",
    "imports/text_units": "core/corpus/graphs/lines.py:blocks",
    "imports/entities": "core/corpus/graphs/rdf.py:local_name",
    "imports/relations": "core/corpus/graphs/cells.py:relation_of",
    "imports/claims": "core/corpus/graphs/microsoft/reading.py:microsoft_batches",
    "imports/communities": "core/corpus/graphs/findings.py:findings_json",
    "imports/reports": "core/corpus/graphs/graphml.py:graphml_batches",
    "imports/account": "core/corpus/graphs/batches.py:Account.closed",
    "imports/quarantine": "core/corpus/graphs/server.py:server_batches",
    "corpus/files": "core/files/globs.py:matches",
    "corpus/documents": "core/readers/pdf_layout.py:paragraphs",
    "corpus/document_metadata": "core/text/values.py:value_of",
    "corpus/document_periods": "core/text/periods/period.py:season",
    "corpus/text_chunks": "core/text/sentences.py:sentence_spans",
    "extraction/gleaned_entities": "core/language/extractive/names/runs.py:find_runs",
    "extraction/gleaned_relationships": "core/language/extractive/relations.py:find_relations",
    "extraction/claims": "core/language/extractive/parsing/dates.py:stated_period",
    "extraction/unit_ledger": "core/language/llm/extraction/tuples.py:parse_tuples",
    "extraction/quarantine": "core/language/chat/json_mending.py:mended_json",
    "extraction/typings": "core/language/llm/entity_typing.py:read_labels",
    "extraction/extraction_state": "core/extraction/reuse.py:extract_new",
    "resolution/candidates": "core/resolution/pairs/candidates.py:candidates",
    "resolution/decisions": "core/resolution/clusters.py:clusters",
    "resolution/aliases": "core/resolution/namesakes.py:told_apart",
    "resolution/resolution_state": "core/resolution/pairs/comparing.py:Comparing.frame",
    "coterag/stores": "core/graph/components.py:connected_components",
    "coterag/communities": "core/coterag/indexing/communities.py:leiden_communities",
    "coterag/members": "core/coterag/indexing/communities.py:communities_at",
    "coterag/descriptions": "core/coterag/indexing/descriptions.py:descriptions",
    "coterag/description_vectors": "core/language/embedded_rows.py:embed_rows",
    "coterag/summaries": "core/language/extractive/coterag/summarising.py:ExtractiveCommunitySummariser.summarise",
    "coterag/summary_quotes": "core/coterag/indexing/summary_requests.py:summary_requests",
    "coterag/terms": "core/coterag/terms.py:terms",
    "coterag/summary_vectors": "core/language/llm/coterag/summarising.py:LlmCommunitySummariser.summarise",
    "coterag/thresholds": "core/coterag/indexing/calibration.py:calibrated",
    "graph/entities": "core/language/extractive/descriptions.py:_choose",
    "graph/relationships": "core/graph/merging.py:merge_relationships",
    "graph/claims": "core/language/llm/descriptions.py:LlmDescriptionMerger._batches",
    "graph/communities": "core/graph/components.py:connected_components",
    "graph/community_members": "core/graph/hierarchy.py:as_hierarchy",
    "studies/context_metrics": "core/graph/context/metrics/cross.py:cross_similarity",
    "graph/context_candidates": "core/graph/context/selection.py:select",
    "graph/context_nodes": "core/graph/context/similarity.py:alignment",
    "graph/context_account": "core/graph/context/distances.py:distances",
    "graph/context_vectors": "core/language/embedded_rows.py:embed_rows",
    "graph/cold_start_edges": "core/graph/leiden.py:clustered",
    "graph/clustering_state": "core/graph/clustering.py:cluster",
    "graph/layout": "core/graph/layout/repulsion.py:Repulsion.of",
    "graph/layout_state": "core/graph/layout/discs.py:spiral",
    "reports/community_reports": "core/language/extractive/report_writer.py:ExtractiveReportWriter.write",
    "reports/report_findings": "core/text/citations.py:parse_citations",
    "reports/report_references": "core/reports/references.py:References.resolve",
    "reports/report_contexts": "core/reports/packing.py:Packer.pack",
    "reports/report_context_rows": "core/reports/packing.py:Packer.pack",
    "reports/written_reports": "core/reports/fingerprints.py:Fingerprints._of_records",
    "embeddings/text_units": "core/language/embedded_rows.py:embed_rows",
    "embeddings/entities": "core/language/embedded_texts.py:text_of_entity",
    "embeddings/community_reports": "core/reports/citations.py:without_citations",
    "marts/published_snapshot": "resources/published/publishing.py:_write_tables",
    "marts/published_results": "resources/published/contents.py:Contents.copy",
    "questions/corpus_descriptions": "core/evaluation/questions/describing.py:described",
    "questions/personas": "core/language/extractive/questioning.py:ExtractiveQuestionWriter.personas",
    "questions/persona_tasks": "core/language/llm/evaluation/questioning.py:LlmQuestionWriter.tasks",
    "questions/persona_questions": "core/language/embedders.py:StaticEmbedder.embed",
    "questions/testset_documents": "core/evaluation/questions/testset.py:sampled",
    "questions/testset_questions": "core/language/llm/evaluation/testset.py:LlmTestsetWriter.write",
    "questions/questions": "operations/evaluating/questions.py:_from_csv",
    "answers/answers": "core/search/retrieval/following.py:Following.take",
    "answers/answer_costs": "core/search/records.py:AnswerRows.add",
    "answers/answer_contexts": "core/search/context/chunks.py:fill",
    "answers/answer_citations": "core/search/context/citing.py:cite",
    "answers/answer_statements": "core/search/support/differences.py:differences",
    "answers/options": "operations/asking/index.py:options_of",
    "evaluation/judgements": "core/evaluation/judging_run.py:judge_answers",
    "evaluation/themes": "core/language/llm/evaluation/theming.py:read_themes",
    "evaluation/theme_reasons": "core/evaluation/theming.py:themes_of",
    "evaluation/answer_sentences": "core/text/answer_sentences.py:answer_sentences",
    "evaluation/answer_claims": "core/evaluation/claims/deduplication.py:_key",
    "evaluation/diversity_clusters": "core/evaluation/claims/rouge.py:distances",
    "evaluation/quality_scores": "core/evaluation/quality/quality_formulas.py:contextual_precision",
    "evaluation/quality_verdicts": "core/language/llm/evaluation/quality_replies.py:read_verdicts",
    "evaluation/position_bias": "core/evaluation/judging.py:position_bias",
    "evaluation/condition_means": "core/evaluation/inference/bootstrap.py:mean_interval",
    "evaluation/significance": "core/evaluation/inference/significance.py:wilcoxon",
    "evaluation/alignment": "core/evaluation/inference/votes.py:alignment",
    "evaluation/verdicts": "core/evaluation/inference/numbers.py:p_value",
    "evaluation/report": "core/graph/layout/settling.py:settled",
    "studies/extraction_counts": "core/corpus/text_units.py:cut",
    "studies/window_answers": "core/search/methods/vector_rag.py:vector_rag",
    "studies/window_judgements": "core/evaluation/judging_run.py:judge_answers",
    "paths/questions": "core/paths/question_rows.py:unmarked",
    "paths/recall_windows": "core/paths/recall/question_classes.py:is_complex",
    "paths/subgraphs": "core/paths/subgraphs/ppr.py:page_ranks",
    "paths/found": "core/paths/rows.py:path_rows",
    "paths/answers": "core/language/extractive/paths/answerer.py:ExtractivePathAnswerer.answer",
    "paths/costs": "core/paths/running.py:run_together",
    "paths/scores": "core/paths/metrics/normalising.py:normalised",
    "paths/judgements": "core/language/llm/evaluation/answer_checking.py:LlmPathJudge.check",
    "paths/summary": "core/evaluation/inference/bootstrap.py:mean_interval",
    "paths/options": "core/paths/retrieval/iterative.py:GrowingPaths.retrieve",
    "usage/model_usage": "model_calls/memory/usage.py:_row",
}
IMPORTS = {key for key in CALLED if key.startswith("imports/")}
EXTRACTION = {key for key in CALLED if key.startswith("extraction/")}
REPORTS = {key for key in CALLED if key.startswith("reports/")}
ANSWERS = {key for key in CALLED if key.startswith("answers/")}
COMMUNITIES = {
    "graph/communities",
    "graph/community_members",
    "graph/cold_start_edges",
    "graph/clustering_state",
}
LAYOUT = {"graph/layout", "graph/layout_state"}
JUDGEMENTS = {"evaluation/judgements", "studies/window_judgements"}
READ = {"corpus/files", "corpus/documents"}
#: The assets that declare or read the table of files.
FILES = {*READ, "marts/published_snapshot", "marts/published_results"}
#: The name of what nobody reaches.
UNREACHED = "nobody_reaches_this"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """A copy of the package's sources."""
    return Sources(_copy(tmp_path_factory.mktemp("package")))


@pytest.fixture(scope="module")
def before(package: Sources) -> dict[str, str]:
    return versions_of(package)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package's sources, to be changed."""
    return _copy(tmp_path)


def _copy(folder: Path) -> Path:
    return shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))


class Changed(Sources):
    """The sources of a package, of which one module is another."""

    def __init__(self, base: Sources, file: str, source: str) -> None:
        super().__init__(base.root)
        self._base = base
        self._file = file
        self._changed = Sources(base.root).read(file, source.encode())

    def module(self, name: str) -> Module | None:
        return self._changed if name == self._changed.name else self._base.module(name)


def versions_of(sources: Sources) -> dict[str, str]:
    """The versions of everything, by name."""
    read = CodeVersions(sources, prompts_by_task())
    return {name: read.version(one.roots, one.also) for name, one in SUBJECTS.items()}


def differing(before: dict[str, str], sources: Sources) -> set[str]:
    now = versions_of(sources)
    return {name for name in before if before[name] != now[name]}


def with_a_line_more(source: str, function: str) -> str:
    """The source, with one more line at the end of a function or method."""
    body: list[ast.stmt] = ast.parse(source).body
    for part in function.split("."):
        one = next(one for one in body if getattr(one, "name", None) == part)
        assert isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        body = one.body
    lines = source.splitlines()
    lines.insert(body[-1].end_lineno or 0, f"{' ' * body[-1].col_offset}print(1)")
    return "\n".join(lines)


def test_every_asset_has_a_version_of_its_code_or_of_its_query() -> None:
    specs = {"/".join(spec.key.path): spec for made in ASSETS for spec in made.specs}
    of_code = {key for key, spec in specs.items() if "sql" not in spec.kinds}
    assert of_code | {"answers/options", "paths/options"} == SUBJECTS.keys() == CALLED.keys()
    assert all(spec.code_version for spec in specs.values())


def test_every_room_has_a_part_in_results_or_none(package: Sources) -> None:
    rooms = {one.name.removesuffix(".py") for one in package.root.iterdir() if one.suffix in {"", ".py"}}
    assert rooms - {"__init__"} <= PARTS.keys()
    for place in PARTS.keys() | set(GIVEN):
        module, _, name = place.partition(":")
        assert package.module(module), place
        assert not name or package.definition((module, name)), place


@pytest.mark.parametrize("name", CALLED)
def test_a_changed_line_in_a_function_that_it_calls_changes_the_version(
    name: str, package: Sources, before: dict[str, str]
) -> None:
    file, function = CALLED[name].split(":")
    source = (package.root / file).read_text(encoding="utf-8")
    changed = Changed(package, file, with_a_line_more(source, function))
    own = SUBJECTS[name]
    assert CodeVersions(changed, prompts_by_task()).version(own.roots, own.also) != before[name]


def with_what_changes_nothing(source: str) -> str:
    """The source with other comments and docstrings, and functions and methods that nobody reaches."""
    lines = source.splitlines(keepends=True)
    edits: list[tuple[int, int, str]] = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) and ast.get_docstring(node):
            first = node.body[0]
            edits.append((first.lineno, first.end_lineno or 0, f'{" " * first.col_offset}"""Another."""\n'))
        if isinstance(node, ast.ClassDef) and not node.bases:
            end, indent = node.body[-1].end_lineno or 0, " " * node.body[-1].col_offset
            edits.append((end + 1, end, f"\n{indent}def {UNREACHED}(self):\n{indent}    return 1\n\n"))
    for one in tree.body:
        if isinstance(one, ast.Assign | ast.ImportFrom):
            edits.append((one.lineno, one.lineno - 1, "# Another.\n"))
    for begin, end, new in sorted(edits, reverse=True):
        lines[begin - 1 : end] = [new]
    return "".join(lines) + f"\n\ndef {UNREACHED}(given):\n    return given + 1\n"


def test_comments_docstrings_and_what_nobody_reaches_change_no_version(
    copied: Path, before: dict[str, str]
) -> None:
    for file in copied.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        # The prompts are handed on as a module, of which anything may be called.
        if source and file.parent.name != "prompts":
            file.write_text(with_what_changes_nothing(source), encoding="utf-8")
    (copied / "core" / "graph" / f"{UNREACHED}.py").write_text("ANOTHER = 1\n", encoding="utf-8")
    (copied / "prompts" / f"{UNREACHED}.txt").write_text("Another.\n", encoding="utf-8")
    assert differing(before, Sources(copied)) == set()


def test_what_carries_results_and_decides_none_changes_no_version(
    copied: Path, before: dict[str, str]
) -> None:
    for room in ("automation", "cli", "dbt_like_sql", "model_calls", "orchestration", "resources", "service"):
        for file in (copied / room).rglob("*.py"):
            file.write_text("ANOTHER = 1\n", encoding="utf-8")
    of_their_own = {"usage/model_usage", "marts/published_snapshot", "marts/published_results"}
    assert differing(before, Sources(copied)) == {
        *of_their_own,
        *COMMUNITIES,
        *LAYOUT,
        *READ,
    }


@pytest.mark.parametrize(
    ("file", "concerned"),
    [
        ("prompts/extract_graph_system.txt", {*EXTRACTION, "studies/extraction_counts"}),
        (
            "prompts/summarize_descriptions_user.txt",
            {"graph/entities", "graph/relationships", "graph/claims"},
        ),
        ("prompts/drift_step_user.txt", {*ANSWERS, "studies/window_answers"}),
        ("prompts/judge_user.txt", JUDGEMENTS),
        ("core/evaluation/report/page.html.j2", {"evaluation/report"}),
    ],
)
def test_a_prompt_or_template_changes_the_assets_that_send_or_fill_it(
    file: str, concerned: set[str], package: Sources, before: dict[str, str]
) -> None:
    place = package.root / file
    was = place.read_bytes()
    place.write_bytes(b"Another. " + was)
    try:
        assert differing(before, package) == concerned
    finally:
        place.write_bytes(was)


@pytest.mark.parametrize(
    ("file", "old", "new", "concerned"),
    [
        # A method of an engine, which is loaded by a name in the catalogue.
        ("engines/llm.py", 'reply_limit("answer_judge")', 'reply_limit("rater")', JUDGEMENTS),
        # A program that is run as a text.
        (
            "core/corpus/reader_process.py",
            "serve(int(sys",
            "serve(1 + int(sys",
            {"corpus/files", "corpus/documents"},
        ),
        # A field, and the docstring that is sent with a schema.
        ("core/language/chat/schemas.py", "rating: float", "rating: int", REPORTS),
        ("core/language/chat/schemas.py", '"""A community report', '"""A good report', REPORTS),
        # A value that people set has its default in the settings; what is computed from it has not.
        (
            "settings/__init__.py",
            "max_description_words: ",
            "another_setting: int = 1\n    max_description_words: ",
            set(),
        ),
        # What is told of a column, and what it is.
        ("tables/index.py", "Path of the file with the same content", "Path of another", set()),
        ("tables/index.py", '"duplicate_of", "VARCHAR"', '"duplicate_of", "INTEGER"', FILES | IMPORTS),
    ],
)
def test_a_part_changes_the_assets_that_use_it(
    file: str, old: str, new: str, concerned: set[str], package: Sources, before: dict[str, str]
) -> None:
    source = (package.root / file).read_text(encoding="utf-8")
    assert old in source
    assert differing(before, Changed(package, file, source.replace(old, new, 1))) == concerned
