"""Texts of pieces as tests write them."""

import numpy as np

from graphrag_dagster.kernel.graph.graph_labels import (
    ARROW,
    INVERSE,
    NO_PIECE,
    Rows,
    VerbalizedRows,
    Vocabulary,
)


def texts_of(*texts: str) -> VerbalizedRows:
    """Return paths that are written with arrows; each piece in turn is a label and a relation."""
    split = [text.split(ARROW) for text in texts]
    labels = sorted({one for pieces in split for one in pieces[0::2]})
    relations = sorted({one.removeprefix(INVERSE) for pieces in split for one in pieces[1::2]})
    vocabulary = Vocabulary(labels, tuple(relations))
    rows: Rows = np.full((len(split), max(map(len, split), default=1)), NO_PIECE, dtype=np.int32)
    for row, pieces in zip(rows, split, strict=True):
        for place, piece in enumerate(pieces):
            if place % 2 == 0:
                row[place] = labels.index(piece)
            else:
                back = piece.startswith(INVERSE)
                row[place] = (
                    len(labels) + relations.index(piece.removeprefix(INVERSE)) + back * len(relations)
                )
    return VerbalizedRows(vocabulary, rows)
