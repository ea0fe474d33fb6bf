import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
HEAVY = (
    "dagster",
    "duckdb",
    "spacy",
    "onnxruntime",
    "openai",
    "wordllama",
    "tiktoken",
    "torch",
    "matplotlib",
)
#: What no step needs before the first one calls a model, or only what is asked for by itself.
LATE = (
    "jinja2",
    "matplotlib",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "spacy",
    "graphrag_dagster.apps.evaluation.measures.pairwise_judging",
    "graphrag_dagster.apps.evaluation.questions.persona_questions",
    "graphrag_dagster.systems.graphrag.llm",
    "graphrag_dagster.systems.graphrag.reports.report_building",
    "graphrag_dagster.systems.graphrag.resolution.entity_resolution",
    "graphrag_dagster.kernel.models.batch_store",
    "graphrag_dagster.kernel.models.endpoint.endpoint_chat",
    "graphrag_dagster.apps.explorer.explorer",
)


def test_the_job_of_an_index_is_made_without_what_its_first_step_does_not_need() -> None:
    code = (
        "import sys\n"
        "from graphrag_dagster.cli.commands import index_commands as indexing\n"
        "from graphrag_dagster.cli import job_runner as outlook, job_runner as running\n"
        "from graphrag_dagster.definitions import defs\n"
        "assert defs.resolve_job_def('index').asset_layer\n"
        f"print([name for name in {LATE!r} if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


#: Of the kernel, what neither opens files of DuckDB nor asks an endpoint nor runs steps.
PURE = ("catalogue", "common", "documents", "graph", "retrieval", "settings", "tables", "tasks", "text")


def test_pure_code_imports_nothing_heavy() -> None:
    package = REPOSITORY / "graphrag_dagster"
    rooms = [*(package / "kernel" / name for name in PURE), package / "engines"]
    rooms += [path for path in (package / "systems").glob("*/*") if path.name in {"search", "llm", "reports"}]
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for room in rooms
        for path in sorted(room.rglob("*.py"))
        # They open the files of a snapshot or of a corpus.
        if path.name not in {"graph_arrays.py", "path_index.py", "lego_estimates.py"}
    ]
    code = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name.removesuffix('.__init__'))\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_generated_pages_are_up_to_date() -> None:
    subprocess.run([sys.executable, REPOSITORY / "docs" / "generate.py", "--check"], check=True)


def test_links_between_pages_lead_somewhere() -> None:
    pages = [REPOSITORY / "README.md", REPOSITORY / "CHANGELOG.md", *(REPOSITORY / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"
