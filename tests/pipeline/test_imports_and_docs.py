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


def test_the_core_imports_nothing_heavy() -> None:
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for path in sorted((REPOSITORY / "graphrag_dagster" / "core").rglob("*.py"))
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
