"""Community reports made of quotations (spec_graphrag §12)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_dagster.core.language.extractive.quotable import readability
from graphrag_dagster.core.language.extractive.similarity import near_duplicate, words
from graphrag_dagster.core.language.tasks import (
    Citation,
    ContextEntity,
    Engine,
    Evidence,
    Finding,
    Quote,
    ReportRequest,
    WrittenReport,
)

_NAMED = 3
_PER_FINDING = 4
_MOST_FINDINGS = 10
_SUMMARY = 2
_ENTITY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class _Candidate:
    evidence: Evidence
    text: str
    tokens: tuple[str, ...]
    quality: float
    place: int


class ExtractiveReportWriter:
    """Writes reports from sentences of the documents: chosen, quoted, never invented.

    The title names the three members of the highest degree. Findings are sentences that together state as
    many of the community's relationships as possible, grouped by the member they are about. The rating is the
    community's share of the largest summed degree, and says so.
    """

    engine: Engine = "extractive"

    def write(self, requests: Sequence[ReportRequest]) -> list[WrittenReport]:
        """Return one report per request."""
        return [_report(request) for request in requests]


def _report(request: ReportRequest) -> WrittenReport:
    candidates = _candidates(request)
    ranked = sorted(request.entities, key=lambda e: (-e.degree, e.title))
    chosen = _covering(request, candidates)
    findings = _findings(request, chosen) if chosen else _described(request, ranked)
    summary, quotes = _summary(ranked, chosen)
    if not summary:
        summary = findings[0].explanation if findings else f"{title_of(ranked)}."
    return WrittenReport(
        title=title_of(ranked) or (request.reports[0].title if request.reports else "Untitled"),
        summary=summary,
        rating=round(10 * min(max(request.prominence, 0.0), 1.0), 1),
        rating_explanation=(
            "Computed, not judged: the summed degree of the members, as a share of the largest such sum of "
            "all communities, times ten."
        ),
        findings=tuple(findings),
        engine="extractive",
        quotes=quotes,
    )


def title_of(ranked: Sequence[ContextEntity]) -> str:
    """Name the first three members: ``A, B and C``."""
    return listed([entity.title for entity in ranked[:_NAMED]])


def listed(names: Sequence[str]) -> str:
    """Join names: ``A``, ``A and B``, ``A, B and C``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _candidates(request: ReportRequest) -> list[_Candidate]:
    made = []
    for place, evidence in enumerate(request.evidence):
        text = " ".join(evidence.text.split())
        quality = readability(text)
        if quality > 0:
            made.append(_Candidate(evidence, text, tuple(words(text)), quality, place))
    return made


def _covering(request: ReportRequest, candidates: list[_Candidate]) -> list[_Candidate]:
    """Greedily choose sentences that state the most that is not stated yet, by weight and readability."""
    weights = {relationship.id: relationship.weight for relationship in request.relationships}
    open_edges = dict(weights)
    open_nodes = {e.id: _ENTITY_SHARE * (1 + e.degree) ** 0.5 for e in request.entities}
    most = min(4 + len(request.entities), _MOST_FINDINGS * _PER_FINDING // 2)
    chosen: list[_Candidate] = []
    waiting = list(candidates)
    while waiting and len(chosen) < most:
        gains = [
            one.quality
            * (
                sum(open_edges.get(i, 0.0) for i in one.evidence.relationships)
                + sum(open_nodes.get(i, 0.0) for i in one.evidence.entities)
            )
            for one in waiting
        ]
        best = max(range(len(waiting)), key=lambda i: (gains[i], -waiting[i].place))
        if gains[best] <= 0 and (chosen or gains[best] < 0):
            break
        candidate = waiting.pop(best)
        if near_duplicate(candidate.tokens, (one.tokens for one in chosen)):
            continue
        chosen.append(candidate)
        for i in candidate.evidence.relationships:
            open_edges.pop(i, None)
        for i in candidate.evidence.entities:
            open_nodes.pop(i, None)
    return chosen


def _findings(request: ReportRequest, chosen: Sequence[_Candidate]) -> list[Finding]:
    entities = {entity.id: entity for entity in request.entities}
    waiting = list(chosen)
    findings: list[Finding] = []
    while waiting and len(findings) < _MOST_FINDINGS:
        named = Counter(i for one in waiting for i in one.evidence.entities if i in entities)
        if not named:
            about, group = None, waiting[:_PER_FINDING]
        else:
            about = min(
                named, key=lambda i: (-min(named[i], _PER_FINDING), -entities[i].degree, entities[i].title)
            )
            group = [one for one in waiting if about in one.evidence.entities][:_PER_FINDING]
        findings.append(_finding(group, _headline(about, group, entities, request)))
        waiting = [one for one in waiting if one not in group]
    return findings


def _headline(
    about: int | None, group: Sequence[_Candidate], entities: dict[int, ContextEntity], request: ReportRequest
) -> str:
    if about is None:
        return request.reports[0].title if request.reports else "Further statements"
    others = Counter(i for one in group for i in one.evidence.entities if i in entities and i != about)
    partners = sorted(others, key=lambda i: (-others[i], -entities[i].degree, entities[i].title))
    return listed([entities[about].title, *(entities[i].title for i in partners[:1])])


def _finding(group: Sequence[_Candidate], headline: str) -> Finding:
    ordered = sorted(group, key=lambda one: one.place)
    nodes = dict.fromkeys(i for one in ordered for i in one.evidence.entities)
    edges = dict.fromkeys(i for one in ordered for i in one.evidence.relationships)
    citations = [Citation("entity", i) for i in nodes] + [Citation("relationship", i) for i in edges]
    return Finding(
        summary=headline,
        explanation=" ".join(one.text for one in ordered),
        citations=tuple(citations),
        quotes=tuple(Quote(one.evidence.unit_id, one.evidence.span) for one in ordered),
    )


def _described(request: ReportRequest, ranked: Sequence[ContextEntity]) -> list[Finding]:
    """Findings where no sentence can be quoted: the members' descriptions, or the sub-reports' summaries."""
    findings = [
        Finding(entity.title, entity.description, (Citation("entity", entity.id),))
        for entity in ranked[:_MOST_FINDINGS]
        if entity.description
    ]
    findings += [
        Finding(report.title, report.summary, (Citation("report", report.id),)) for report in request.reports
    ]
    return findings[:_MOST_FINDINGS]


def _summary(ranked: Sequence[ContextEntity], chosen: Sequence[_Candidate]) -> tuple[str, tuple[Quote, ...]]:
    importance = {entity.id: 1.0 + entity.degree for entity in ranked}
    central = sorted(
        chosen,
        key=lambda one: (-one.quality * sum(importance.get(i, 0) for i in one.evidence.entities), one.place),
    )[:_SUMMARY]
    ordered = sorted(central, key=lambda one: one.place)
    text = " ".join(one.text for one in ordered)
    return text, tuple(Quote(one.evidence.unit_id, one.evidence.span) for one in ordered)
