"""Small corpora that tests index."""

from pathlib import Path

DOCUMENTS = {
    "news/merger.txt": (
        "Orrin Vask founded Tallow Marine in 1998. Tallow Marine acquired Brinefield Shipping in March 2014. "
        "Selma Dray, the director of Brinefield Shipping, opposed the merger. Orrin Vask met Selma Dray in "
        "Port Ellery. The Ellery Gazette reported that Tallow Marine moved its office to Port Ellery."
    ),
    "news/strike.md": (
        "# The strike\n\nThe Dockers Union called a strike at Tallow Marine in June 2015. Hanna Quill led the "
        "Dockers Union. Hanna Quill accused Orrin Vask of breaking the agreement. The Ellery Gazette interviewed "
        "Hanna Quill in Port Ellery.\n\nSelma Dray negotiated with the Dockers Union for Brinefield Shipping."
    ),
    "institute/report.txt": (
        "The Corvane Institute measured the tides at Skerry Point. Professor Ilse Maro of the Corvane Institute "
        "advised Wavecrest Energy. Wavecrest Energy built a turbine at Skerry Point. Ilse Maro wrote to the "
        "Northern Council about Skerry Point. The Northern Council granted Wavecrest Energy a licence in 2016."
    ),
    "institute/letter.txt": (
        "Piet Lund of Wavecrest Energy thanked Ilse Maro. Piet Lund invited the Northern Council to Skerry Point. "
        "Wavecrest Energy hired Brinefield Shipping in 2017. Brinefield Shipping carried the turbine to "
        "Skerry Point."
    ),
}


def write_corpus(root: Path, name: str = "coast", settings: str = "") -> Path:
    """Write the documents below ``root/name`` and return that folder."""
    folder = root / name
    for path, text in DOCUMENTS.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if settings:
        (folder / "corpus.yaml").write_text(settings, encoding="utf-8")
    return folder
