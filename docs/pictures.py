"""Take the pictures of README.md anew: the explorer on the sample corpus, in a real browser.

Run: make pictures
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from PIL import Image

from support.browsing import launched_browser, served_home

PICTURES = Path(__file__).with_name("pictures")
QUESTION = "Why did the ferry Lady Ingrith sink?"
#: Address, what must be there before the picture is taken, and where the mouse is put.
VIEWS = {
    "map": ("map", ".graph-told:not(:empty)", None),
    "answer": (f"ask?q={quote(QUESTION)}&way=local", "[data-answered]", "[data-answered] a.cite"),
}
_COLOURS = 128


def main() -> None:
    """Index the sample corpus in a folder of its own, and take every picture."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", "from graphrag_dagster.cli import main; main()", "index"]
        variables = {**os.environ, "GRAPHRAG_DAGSTER_HOME": folder, "PYTHONPATH": str(ROOT)}
        subprocess.run(
            [*command, str(ROOT / "graphrag_dagster" / "sample" / "harbour")], env=variables, check=True
        )
        with served_home(Path(folder), {"PYTHONPATH": str(ROOT)}) as url, launched_browser() as browser:
            context = browser.new_context(viewport={"width": 1280, "height": 760})
            page = context.new_page()
            for name, (address, awaited, pointed_at) in VIEWS.items():
                page.goto(f"{url}/#/harbour/{address}")
                page.wait_for_selector(awaited)
                if pointed_at:
                    page.hover(pointed_at)
                page.wait_for_timeout(1_500)
                file = PICTURES / f"{name}.png"
                page.screenshot(path=file)
                with Image.open(file) as taken:
                    taken.convert("RGB").quantize(_COLOURS).save(file, optimize=True)
            context.close()


if __name__ == "__main__":
    main()
