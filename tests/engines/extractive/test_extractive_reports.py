import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.extractive_report_writer import ExtractiveReportWriter
from graphrag_dagster.engines.extractive.report_sentences import (
    SentenceCandidate,
    central_sentences,
    covering_sentences,
    join_names,
    sentence_candidates,
)
from graphrag_dagster.kernel.tasks.task_ports import (
    ContextEntity,
    ContextRelationship,
    ContextReport,
    Quote,
    ReportRequest,
    SupportingSentence,
    WrittenReport,
)
from graphrag_dagster.kernel.text.markup_spans import Span, mark_before
from graphrag_dagster.kernel.text.quotable_sentences import readability
from graphrag_dagster.kernel.text.text_similarity import rouge_l, stems, words

NAMES = ["Harbour Authority", "Vell & Daughters", "Ingrid Vell", "Orrin Vask", "Skarnes"]
UNIT = """THE HARBOUR OF SKARNES
3. Ingrid Vell founded Vell & Daughters in a
   net loft in 1998. He sold it to them for nothing at all. The Harbour Authority leased the
north quay of Skarnes to Vell & Daughters for thirty years. The Harbour Authority leased the north quay of
Skarnes to Vell & Daughters for forty years. Did the Harbour Authority ask Orrin Vask?
- Orrin Vask, the auditor, told the Harbour Authority that the lease had never been signed.
They said that Ingrid Vell knew. Ingrid Vell and Orrin Vask. Orrin Vask wrote to Ingrid Vell twice about
the accounts of Vell & Daughters. A new crane was delivered to the Harbour Authority by rail from the south."""
SENTENCES = [
    ("THE HARBOUR OF SKARNES", (5,), ()),
    ("3. Ingrid Vell founded Vell & Daughters in a\n   net loft in 1998.", (3, 2), (1,)),
    ("He sold it to them for nothing at all.", (), ()),
    ("The Harbour Authority leased the\nnorth quay of Skarnes to Vell & Daughters for thirty years.", (1, 5, 2), (2, 3, 4)),
    ("The Harbour Authority leased the north quay of\nSkarnes to Vell & Daughters for forty years.", (1, 5, 2), (2, 3, 4)),
    ("Did the Harbour Authority ask Orrin Vask?", (1, 4), (5,)),
    ("- Orrin Vask, the auditor, told the Harbour Authority that the lease had never been signed.", (4, 1), (5,)),
    ("They said that Ingrid Vell knew.", (3,), ()),
    ("Ingrid Vell and Orrin Vask.", (3, 4), (6,)),
    ("Orrin Vask wrote to Ingrid Vell twice about\nthe accounts of Vell & Daughters.", (4, 3, 2), (6, 7)),
    ("A new crane was delivered to the Harbour Authority by rail from the south.", (1,), ()),
]  # fmt: skip


def request(**changes: object) -> ReportRequest:
    pairs = [(3, 2), (1, 5), (1, 2), (5, 2), (4, 1), (4, 3), (4, 2)]
    evidence = tuple(
        SupportingSentence("u", Span(UNIT.index(text), UNIT.index(text) + len(text)), text, nodes, edges)
        for text, nodes, edges in SENTENCES
    )
    base = ReportRequest(
        context="",
        entities=tuple(
            ContextEntity(n, name, "ORGANIZATION", "", 9 - n) for n, name in enumerate(NAMES, start=1)
        ),
        relationships=tuple(
            ContextRelationship(n, *pair, "", 1.0, 5) for n, pair in enumerate(pairs, start=1)
        ),
        evidence=evidence,
        prominence=0.4567,
    )
    return replace(base, **changes)


def write(one: ReportRequest) -> WrittenReport:
    (report,) = ExtractiveReportWriter().write([one])
    return report


def sentences_of(report: WrittenReport) -> list[str]:
    quotes = [*report.quotes, *(quote for finding in report.findings for quote in finding.quotes)]
    return [" ".join(UNIT[quote.span.start : quote.span.end].split()) for quote in quotes]


def test_the_title_names_the_two_members_of_the_highest_degree_and_what_their_sentences_share() -> None:
    assert write(request()).title == "Harbour Authority and Vell & Daughters: north quay"
    assert write(request(evidence=())).title == "Harbour Authority and Vell & Daughters"
    forms = tuple(
        ContextEntity(n, name, "PERSON", "", 9 - n)
        for n, name in enumerate(["Ingrid Vell", "Vell", "Orrin Vask"], start=1)
    )
    assert write(request(entities=forms)).title == "Ingrid Vell and Orrin Vask: north quay"
    assert [join_names(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_every_sentence_is_quoted_word_for_word_and_stands_alone() -> None:
    report = write(request())
    quoted = sentences_of(report)
    assert report.summary == " ".join(quoted[: len(report.quotes)])
    assert " ".join(finding.explanation for finding in report.findings) == " ".join(
        quoted[len(report.quotes) :]
    )
    assert "Ingrid Vell founded Vell & Daughters in a net loft in 1998." in quoted
    assert (
        "Orrin Vask, the auditor, told the Harbour Authority that the lease had never been signed." in quoted
    )
    for sentence in quoted:
        assert re.match(r"[A-Z].*\.$", sentence)
        assert not sentence.startswith(("He ", "They ", "THE ", "Did "))
    assert "Ingrid Vell and Orrin Vask." not in quoted


def test_nothing_is_said_twice() -> None:
    quoted = sentences_of(write(request()))
    leases = [sentence for sentence in quoted if "leased" in sentence]
    assert len(leases) == 1
    assert len(set(quoted)) == len(quoted)


def test_findings_name_their_subject_and_cite_what_their_sentences_support() -> None:
    report = write(request())
    assert 1 <= len(report.findings) <= 3
    for finding in report.findings:
        assert 1 <= len(finding.quotes) <= 4
        named = finding.summary.split(" and ")
        assert all(name in NAMES for name in named)
        assert named[0] in finding.explanation
        cited = {(one.kind, one.id) for one in finding.citations}
        for text, nodes, edges in SENTENCES:
            if " ".join(text[mark_before(text) :].split()) in finding.explanation:
                assert {("entity", n) for n in nodes} | {("relationship", e) for e in edges} <= cited
    assert len({finding.summary for finding in report.findings}) == len(report.findings)


def test_the_rating_is_the_prominence_and_says_so() -> None:
    report = write(request())
    assert report.rating == 4.6
    assert "summed degree" in report.rating_explanation
    assert write(request(prominence=3.0)).rating == 10


def test_sub_reports_and_descriptions_serve_where_nothing_can_be_quoted() -> None:
    child = ContextReport(
        1,
        "Orrin Vask, Skarnes and the Crane",
        "Orrin Vask bought the crane.",
        "# T\n\nOrrin Vask bought the crane. And so.",
    )
    report = write(request(evidence=(), entities=(), relationships=(), reports=(child,)))
    assert report.title == "Orrin Vask"
    assert report.summary == report.findings[0].explanation == "Orrin Vask bought the crane."
    assert [(one.kind, one.id) for one in report.findings[0].citations] == [("report", 1)]
    described = tuple(replace(entity, description=f"{entity.title} exists.") for entity in request().entities)
    report = write(request(evidence=(), entities=described))
    assert [finding.summary for finding in report.findings] == NAMES[:3]
    assert report.findings[0].explanation == "Harbour Authority exists."
    report = write(request(evidence=()))
    assert report.findings
    assert report.summary


def test_quotations_of_sub_reports_cite_them() -> None:
    text = SENTENCES[-1][0]
    child = ContextReport(7, "The crane", text, f"# The crane\n\n{text}")
    lone = SupportingSentence("u", Span(UNIT.index(text), UNIT.index(text) + len(text)), text)
    report = write(request(evidence=(lone,), entities=(), relationships=(), reports=(child,)))
    (finding,) = report.findings
    assert (finding.summary, finding.explanation) == ("The crane", text)
    assert [(one.kind, one.id) for one in finding.citations] == [("report", 7)]
    assert finding.quotes


@given(st.lists(st.integers(1, 400), min_size=3, max_size=8, unique=True), st.randoms(use_true_random=False))
def test_of_sentences_about_the_same_members_the_first_is_chosen(degrees: list[int], random: Random) -> None:
    members = tuple(ContextEntity(n, f"M{n}", "PERSON", "", degree) for n, degree in enumerate(degrees))
    named = [list(range(len(degrees))) for _ in range(6)]
    for order in named:
        random.shuffle(order)
    pool = [
        SentenceCandidate(
            f"Sentence {n}.", (f"word{n}",), 1.0, n, Quote("u", Span(n, n + 1)), tuple(order), ()
        )
        for n, order in enumerate(named)
    ]
    one = request(entities=members, relationships=())
    assert covering_sentences(one, pool, 1) == central_sentences(pool, members, 1) == pool[:1]


def test_a_batch_gives_what_each_request_gives_alone() -> None:
    requests = [request(prominence=n / 1000) for n in range(1000)]
    batch = list(ExtractiveReportWriter().write(requests))
    assert batch[500] == write(requests[500])


@pytest.mark.parametrize(
    "poor",
    [
        "KIM: Great to be here, Ingrid Vell.",
        "Congratulations to Ingrid Vell on all of that success.",
        "Ingrid Vell, that was an amazing conversation.",
        "What are the big things that Ingrid Vell and Orrin Vask have?",
        "KIM: The thing that Ingrid Vell and Orrin Vask have–",
    ],
)
def test_greetings_questions_and_what_was_interrupted_are_left_out_where_anything_else_is_said(
    poor: str,
) -> None:
    good = "Ingrid Vell founded a net loft in the harbour."
    evidence = [SupportingSentence("u", Span(0, len(one)), one, (3,)) for one in (poor, good)]
    assert [one.text for one in sentence_candidates(evidence)] == [good]
    assert len(sentence_candidates(evidence[:1])) == 1


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("The board met in May and sold the quay.", "It met in May and then sold the whole quay."),
        ("The board met in May and sold the quay.", "Did the board meet in May and sell the quay?"),
        ("The board met in May and sold the quay.", "The board of May, the quay of June, the mole."),
        ("The board met in May and sold the quay.", "I met the board in May and sold the quay."),
        ("The board met in May and sold the quay.", "Minutes are at https://example.org/may of the board."),
        ("VASK: The board met in May and sold it.", "VASK: Yeah, the board met in May and sold it."),
        ("The board met in May and sold the quay.", "The board met " + "and met again " * 30 + "in May."),
    ],
)
def test_some_sentences_stand_alone_better_than_others(better: str, worse: str) -> None:
    assert readability(better) > readability(worse) > 0


@pytest.mark.parametrize(
    ("text", "length"),
    [
        *[("- The", 2), ("3. In", 3), ("(b) In", 4), ("• “In", 2), ("In 3. days", 0), ("1998 was", 0), ("A. Vell", 0)],
        *[("- [x] In", 6), ("1.2.3 In", 6), ("1.2 In", 4), ("2.5 million", 0), ("> - In", 4), ("## In", 3), ("*In* May", 0)],
        *[("[^1]: In", 6), (".. note:: In", 10), ("<li><b>In", 7), ("{{< x >}} In", 10), ("| In", 2), ("- - -", 4)],
    ],
)  # fmt: skip
def test_list_marks_are_told_from_sentences(text: str, length: int) -> None:
    assert mark_before(text) == length


def test_stems_bring_irregular_verbs_to_their_base_form() -> None:
    assert stems("Who sold it?") == stems("selling")
    assert stems("the barge broke loose") == stems("barges break loose")


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_rouge_l_is_the_longest_common_subsequence(one: list[str], other: list[str]) -> None:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    expected = 2 * table[-1][-1] / (len(one) + len(other)) if one and other else 0
    assert rouge_l(one, other) == pytest.approx(expected)
    assert words(" ".join(one)) == tuple(one)
