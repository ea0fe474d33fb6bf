import ast
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
BENCHMARKS = REPOSITORY / "benchmarks"
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
        "from graphrag_dagster.cli.commands import indexing\n"
        "from graphrag_dagster.cli import job_runner\n"
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
    for page in [*pages, BENCHMARKS / "README.md"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


def _imported(script: str, scripts: dict[str, ast.Module]) -> set[str]:
    """Return which other scripts of ``benchmarks/`` a script imports."""
    found: set[str] = set()
    for node in ast.walk(scripts[script]):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
    return found & scripts.keys() - {script}


def test_the_page_of_benchmarks_names_the_scripts_that_are_there() -> None:
    """A figure without its script cannot be checked, and a script without a figure is not run."""
    scripts = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in BENCHMARKS.glob("*.py")}
    page = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)\.py\b", page))
    assert named <= scripts.keys()
    reached, left = set(named), list(named)
    while left:
        new = _imported(left.pop(), scripts) - reached
        reached |= new
        left += new
    assert scripts.keys() == reached


def test_the_page_of_benchmarks_stays_short() -> None:
    """Tables in which a figure is found, and no diary of how it came about."""
    assert len((BENCHMARKS / "README.md").read_text(encoding="utf-8").split()) <= 1_500


def test_scripts_of_benchmarks_say_what_they_measure_and_how_they_are_run() -> None:
    for path in BENCHMARKS.glob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        told = ast.get_docstring(module) or ""
        assert told, path.name
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in module.body):
            assert f"python benchmarks/{path.name}" in told, path.name


def test_links_to_the_page_of_benchmarks_name_its_headings() -> None:
    headings = re.findall(r"^#+ (.+)$", (BENCHMARKS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for folder in ("docs", "packages"):
        for page in (REPOSITORY / folder).rglob("*.md"):
            for anchor in re.findall(r"benchmarks/README\.md#([^)]+)\)", page.read_text(encoding="utf-8")):
                assert anchor in anchors, f"{page.name} → {anchor}"
