"""Files of questions, whatever is wrong with them."""

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.systems.lego.studies.question_files import GoldQuestion, questions_in


def read(name: str, content: str | bytes) -> list[GoldQuestion]:
    return questions_in([(name, content if isinstance(content, bytes) else content.encode())])


def test_the_form_of_metaqa_has_entities_in_brackets_and_hops_in_its_folder() -> None:
    first, second = read(
        "2-hop/qa_dev.txt",
        "who are [Joel Zwick]'s actors\tA. B.|C|A. B.\r\n\nwhich films share [$] and [[REC]]\t$\n",
    )
    assert first.text == "who are Joel Zwick's actors"
    assert first.entities == ("Joel Zwick",)
    assert first.answers == ("A. B.", "C")
    assert (first.hops, first.row, first.problem) == (2, 1, None)
    assert second.entities == ("$", "[REC]")
    assert (second.row, second.problem) == (3, "answers_blank")


@pytest.mark.parametrize(
    ("line", "problem", "entities"),
    [
        ("who directed [REC\tA", "no_bracket", ()),
        ("who directed REC]\tA", "no_bracket", ()),
        ("who directed it\tA", "no_bracket", ()),
        ("who directed [REC]", "no_answers", ("REC",)),
        ("who directed [REC]\t | ", "no_answers", ("REC",)),
        ("who directed [REC]\tthe|$|...", "answers_blank", ("REC",)),
        ("?!\tA", "no_question", ()),
    ],
)
def test_what_is_wrong_with_a_line_is_told(line: str, problem: str, entities: tuple[str, ...]) -> None:
    (found,) = read("qa.txt", line)
    assert found.problem == problem
    assert found.entities == entities
    assert "[" not in found.text
    assert found.asked == (problem != "no_question")
    assert found.hops is None


def test_tables_and_lines_of_json_say_the_same() -> None:
    wanted = [("who?", ("A", "B"), ("C",), 1, None), ("where?", (), (), None, "no_answers")]
    files = {
        "q.csv": 'Question,entities,answers,hops\nwho?,A|B,C,1\n\n"where?",,,\n',
        "q.tsv": "question\tentities\tanswers\thops\nwho?\tA|B\tC\t1\nwhere?\n",
        "q.jsonl": '{"question": "who?", "entities": ["A", "B"], "answers": "C", "hops": 1}\n\n'
        '{"question": "where?"}\n',
    }
    for name, content in files.items():
        found = read(name, content)
        assert [(one.text, one.entities, one.answers, one.hops, one.problem) for one in found] == wanted


def test_hops_that_are_no_number_are_told() -> None:
    (found,) = read("q.csv", "question,answers,hops\nwho?,Ann,two\n")
    assert (found.hops, found.problem) == (None, "hops_unreadable")


def test_repeated_questions_have_ids_of_their_own() -> None:
    found = questions_in(
        [("a.csv", b"question,answers\nwho?,Ann\nwho?,Bo\n"), ("b.csv", b"question,answers\nwho?,Ann")]
    )
    assert [one.problem for one in found] == [None, "repeated", "repeated"]
    assert len({one.id for one in found}) == 3
    assert [one.file for one in found] == ["a.csv", "a.csv", "b.csv"]


def test_other_encodings_are_read() -> None:
    (found,) = read("q.txt", "\ufeffqui a réalisé [Amélie]\tJean-Pierre Jeunet".encode("utf-16"))
    assert found.entities == ("Amélie",)
    (found,) = read("q.txt", "qui a réalisé [Amélie] à Paris, et où\tJean-Pierre Jeunet".encode("cp1252"))
    assert found.entities == ("Amélie",)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("q.csv", b"", r"q\.csv holds no question"),
        ("q.csv", b"question\n", r"q\.csv holds no question"),
        ("q.csv", b"text,answers\nwho?,A\n", r"q\.csv, row 1 should name the columns"),
        ("q.csv", b'question\n"who?\n', r"q\.csv, line \d+: its quotes are broken"),
        ("q.jsonl", b'{"question": "who?"}\n{"question"\n', r"q\.jsonl, line 2 is no JSON object"),
        ("q.jsonl", b'{"answers": []}\n', r"q\.jsonl, line 1 has no question"),
        ("q.jsonl", b'{"question": "a?", "answers": [{"x": 1}]}\n', r"line 1: answers should be a text"),
        ("q.pdf", b"%PDF-1.7", r"q\.pdf cannot be read as a file of questions; .*\.jsonl"),
        ("q.txt", b"PK\x03\x04 and more", r"q\.txt: not text"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(name: str, content: bytes, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        read(name, content)
