import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.files import docx, pdf
from support.shared import DATA


@pytest.fixture(scope="session")
def make_docx() -> Callable[..., bytes]:
    return docx


@pytest.fixture(scope="session")
def make_pdf() -> Callable[..., bytes]:
    return pdf


@pytest.fixture(scope="session")
def podcast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public Podcast corpus: 1,669 texts."""
    packed = DATA / "podcast" / "transcripts.zip"
    if not packed.is_file():
        pytest.skip("the podcast corpus is not at hand")
    folder = tmp_path_factory.mktemp("podcast")
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    return folder
