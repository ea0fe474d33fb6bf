"""Community reports made of quotations."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from graphrag_dagster.engines.extractive.report_sentences import (
    SentenceCandidate,
    Subjects,
    central_sentences,
    covering_sentences,
    join_names,
    sentence_candidates,
    title_of,
)
from graphrag_dagster.kernel.tasks.answering_ports import rating_of
from graphrag_dagster.kernel.tasks.task_ports import (
    ContextNode,
    ContextReport,
    Engine,
    Finding,
    Quote,
    ReportRequest,
    WrittenReport,
)
from graphrag_dagster.kernel.text.citations import Citation
from graphrag_dagster.kernel.text.quotable_sentences import readability, tidy
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.text_similarity import repeats

#: Begins the headline, so that nobody takes what follows for members.
OUTSIDE = "Outside the community: "


def context_node_findings(request: ReportRequest, told: Collection[Quote]) -> list[Finding]:
    """Return a finding about the context nodes, one sentence for each; none where there is nothing to say.

    Sentences come first that state a relationship with a member, then those that read best. Where nothing
    about a node can be quoted that the report does not say already, its descriptions are told.
    """
    pool = sentence_candidates(request.context_evidence)
    quoted: dict[int, SentenceCandidate] = {}
    texts: dict[int, str] = {}
    for node in request.context_nodes:
        known = {*told, *(one.quote for one in quoted.values())}
        about = (one for one in pool if node.entity.id in one.entities and one.quote not in known)
        best = min(about, key=lambda one: (not one.relationships, -one.quality, one.place), default=None)
        if best is not None:
            quoted[node.entity.id], texts[node.entity.id] = best, best.text
        elif described := _node_sentence(node):
            texts[node.entity.id] = described
    shown = [node for node in request.context_nodes if node.entity.id in texts]
    if not shown:
        return []
    stated = [edge for one in quoted.values() for edge in one.relationships]
    described_by = [
        edge for node in shown if node.entity.id not in quoted for edge, _ in node.relationships[:1]
    ]
    return [
        Finding(
            summary=OUTSIDE + join_names([node.entity.title for node in shown]),
            explanation=" ".join(texts[node.entity.id] for node in shown),
            citations=(
                *(Citation("entity", node.entity.id) for node in shown),
                *(Citation("relationship", edge) for edge in dict.fromkeys([*stated, *described_by])),
            ),
            quotes=tuple(one.quote for one in quoted.values()),
        )
    ]


def _node_sentence(node: ContextNode) -> str:
    texts = (*(text for _, text in node.relationships[:1]), node.entity.description)
    return next(filter(None, map(tidy, texts)), "")


_PER_FINDING = 4
_FEWEST, _MOST = 3, 10
#: Readability from which a sentence may be added to another.
_GOOD = 0.6
_RATING = (
    "Computed, not judged: ten times the summed degree of the members, as a share of the largest such sum of "
    "all communities."
)


class ExtractiveReportWriter:
    """Writes reports from whole sentences of the documents: chosen, quoted, never invented.

    The title names the two members of the highest degree and the phrase that most sentences share. The
    summary quotes the sentences about them; the findings quote sentences that together state as many of the
    relationships as possible, by weight, each finding under the names of the two members it is about. What a
    finding rests on is in its ``citations`` and ``quotes``; the mark ``[Data: …]`` is put behind its text
    where the report is stored. Sentences of one text are given in its order, without the labels of speakers
    where they need none. What is quoted of context nodes has a finding of its own, the last. The same
    request always gives the same report.
    """

    engine: Final[Engine] = "extractive"

    def write(self, requests: Sequence[ReportRequest]) -> Iterator[WrittenReport]:
        """Yield one report per request."""
        yield from map(_report, requests)


def _report(request: ReportRequest) -> WrittenReport:
    subjects = Subjects(request)
    pool = sentence_candidates(request.evidence)
    summary = central_sentences(pool, subjects.ranked, 1 if len(pool) < 5 else 2 if len(pool) < 16 else 3)
    told = summary if len(pool) > len(summary) else []
    rest = [one for one in pool if one not in told]
    findings = _findings(
        request, subjects, covering_sentences(request, rest, _MOST * _PER_FINDING, told), rest
    )
    findings = (
        findings or _findings_of_reports(request.reports) or _findings_of_descriptions(request, subjects)
    )
    quoted = {quote for finding in findings for quote in finding.quotes} | {one.quote for one in summary}
    findings += context_node_findings(request, quoted)
    return WrittenReport(
        title=title_of(request, [one.text for one in pool]),
        summary=" ".join(one.text for one in summary) or findings[0].explanation,
        rating=rating_of(request.prominence),
        rating_explanation=_RATING,
        findings=tuple(findings),
        engine="extractive",
        quotes=tuple(one.quote for one in summary),
    )


def _findings(
    request: ReportRequest,
    subjects: Subjects,
    chosen: Sequence[SentenceCandidate],
    pool: Sequence[SentenceCandidate],
) -> list[Finding]:
    """Group sentences under what they are about: each in turn, with others about the rarer of its names."""
    waiting, spare = list(chosen), [one for one in pool if one not in chosen]
    groups: dict[tuple[int, ...], list[SentenceCandidate]] = {}
    while waiting and len(groups) < _most_findings(request):
        seed = waiting.pop(0)
        about = subjects.of(seed, groups)
        found = [*groups.get(about, ()), *_companions(seed, about, waiting, spare)]
        groups[about] = found[:_PER_FINDING]
        waiting = [one for one in waiting if one not in groups[about]]
        spare = [one for one in spare if one not in groups[about]]
    for one in waiting:
        open_ = [about for about in groups if len(groups[about]) < _PER_FINDING]
        shared = {about: len(set(about) & set(one.entities)) for about in open_}
        if any(shared.values()):
            groups[max(open_, key=lambda about: shared[about])].append(one)
    return [
        _finding(group, _headline(about, subjects, group[0], request.reports), request.reports)
        for about, group in groups.items()
    ]


def _most_findings(request: ReportRequest) -> int:
    members = len(request.entities) + 3 * len(request.reports)
    return min(max(_FEWEST, 1 + members // 2), _MOST)


def _companions(
    seed: SentenceCandidate,
    about: tuple[int, ...],
    waiting: Sequence[SentenceCandidate],
    spare: Sequence[SentenceCandidate],
) -> list[SentenceCandidate]:
    """Return the seed and up to three more: of those chosen for what they add, else one that tells more."""
    group = [seed]
    for others, most in ((waiting, _PER_FINDING), (spare, 2)):
        alike = [one for one in others if (about[-1] in one.entities if about else not one.entities)]
        alike.sort(key=lambda one: (-len(set(about) & set(one.entities)), -one.quality, one.place))
        for one in alike:
            near = one.quality >= _GOOD or one.quality > seed.quality
            if len(group) < most and near and not repeats(one.words, (kept.words for kept in group)):
                group.append(one)
    return group


def _headline(
    about: tuple[int, ...], subjects: Subjects, seed: SentenceCandidate, reports: Sequence[ContextReport]
) -> str:
    if about:
        return join_names([subjects.titles[entity] for entity in about])
    source = _source(seed.text, reports)
    return source.title if source else "Further statements"


def _finding(group: Sequence[SentenceCandidate], headline: str, reports: Sequence[ContextReport]) -> Finding:
    ordered = sorted(group, key=lambda one: one.place)
    nodes = Counter(node for one in ordered for node in one.entities)
    edges = Counter(edge for one in ordered for edge in one.relationships)
    retold = [_source(one.text, reports) for one in ordered if not one.entities and not one.relationships]
    return Finding(
        summary=headline,
        explanation=" ".join(one.text for one in ordered),
        citations=(
            *(Citation("entity", node) for node, _ in nodes.most_common()),
            *(Citation("relationship", edge) for edge, _ in edges.most_common()),
            *dict.fromkeys(Citation("report", report.id) for report in retold if report),
        ),
        quotes=tuple(one.quote for one in ordered),
    )


def _source(sentence: str, reports: Sequence[ContextReport]) -> ContextReport | None:
    return next((report for report in reports if sentence in tidy(report.content)), None)


def _findings_of_reports(reports: Sequence[ContextReport]) -> list[Finding]:
    """Findings where there is no evidence but reports of sub-communities: the first sentences of each."""
    findings = []
    for report in sorted(reports, key=lambda one: (-len(one.content), one.id))[:_MOST]:
        whole = [
            tidy(text[span.start : span.end])
            for text in (report.summary, report.content)
            for span in sentence_spans(text)
        ]
        kept = list(dict.fromkeys(sentence for sentence in whole if readability(sentence) > 0))
        text = " ".join(kept[:_PER_FINDING]) or tidy(report.summary)
        if text:
            findings.append(Finding(report.title, text, (Citation("report", report.id),)))
    return findings


def _findings_of_descriptions(request: ReportRequest, subjects: Subjects) -> list[Finding]:
    """Findings where nothing can be quoted: the descriptions of members and relationships."""
    findings = [
        Finding(entity.title, tidy(entity.description), (Citation("entity", entity.id),))
        for entity in subjects.ranked
        if entity.description.strip()
    ]
    heaviest = sorted(request.relationships, key=lambda one: (-one.weight, -one.combined_degree, one.id))
    findings += [
        Finding(
            join_names([subjects.titles[end] for end in (one.source, one.target)]),
            tidy(one.description),
            (Citation("relationship", one.id),),
        )
        for one in heaviest
        if one.description.strip()
    ]
    if not findings:
        cited = tuple(Citation("entity", entity.id) for entity in subjects.ranked)
        findings = [Finding(title_of(request), "The documents name these, in no sentence to quote.", cited)]
    return findings[: _most_findings(request)]
