"""Files below the corpus folder that a setting names: questions, which are no documents."""

from pathlib import Path

from graphrag_dagster.errors import SettingsError


def content_of(folder: Path, name: str, where: str, most_bytes: int) -> bytes:
    """Return the content of such a file.

    Args:
        folder: of the corpus.
        name: the file, as the setting has it.
        where: names file, key and value in errors.
        most_bytes: that it may have.

    Raises:
        SettingsError: it is not there, lies outside of the folder, is no ordinary file, or too large.
    """
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError):
        raise SettingsError(f"{where} cannot be read: its links go in a circle") from None
    if not path.is_relative_to(folder.resolve()):
        raise SettingsError(f"{where} lies outside of the corpus folder; put it inside")
    try:
        if path.exists() and not path.is_file():
            raise SettingsError(f"{where} is no ordinary file")
        if (size := path.stat().st_size) > most_bytes:
            raise SettingsError(f"{where} has {size:,} bytes; a list of questions may have {most_bytes:,}")
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror}") from error
