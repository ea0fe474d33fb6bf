"""Reads a judge's reasons with a model: names themes, merges them, and finds them in each reason."""

from collections.abc import Sequence

from pydantic import BaseModel

from graphrag_dagster.apps.evaluation.tasks import (
    CRITERIA,
    Criterion,
    Labels,
    Reasons,
    Theme,
    ThemeLists,
    Themes,
)
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import ItemNumber, Line, Shape, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose

#: Most themes of one part of the reasons, and of a criterion.
MOST_NAMED, MOST_MERGED = 5, 8
#: Tokens of ``{"id": 12, "themes": [1, 3]}`` with blanks.
_TOKENS_PER_LABEL = 30
_LONGEST_NAME, _LONGEST_DESCRIPTION = 80, 400


class ThemeShape(Shape):
    """A theme as the endpoint is asked for it."""

    name: Line
    description: Line = or_named("description", missing=str)


class ThemesShape(Shape):
    """Themes as the endpoint is asked for them."""

    themes: list[ThemeShape]


class LabelShape(Shape):
    """The themes of one reason as the endpoint is asked for them."""

    id: ItemNumber
    themes: list[ItemNumber]


class LabelsShape(Shape):
    """The themes of all reasons of a prompt."""

    labels: list[LabelShape]


class LlmReasonReader(Asker):
    """Asks a model for the themes of a judge's reasons.

    Each of its methods raises EndpointError where the endpoint cannot be used at all.

    Args:
        model: answers.
        max_tokens: longest reply; more where many reasons are labelled at once.
    """

    def __init__(self, model: ChatModel, *, max_tokens: int = 1000) -> None:
        super().__init__(model, max_tokens)
        self._prompts = {
            task: (prompts.load(f"themes_{task}_system"), prompts.load(f"themes_{task}_user"))
            for task in ("name", "merge", "label")
        }
        self._criteria = {one: prompts.load(f"judge_criterion_{one}").render() for one in CRITERIA}

    def name_themes(self, parts: Sequence[Reasons]) -> list[Themes]:
        """Name the themes of each part, many calls at a time."""

        async def one(part: Reasons) -> Themes:
            return await self._themes("name", part.criterion, MOST_NAMED, reasons=_number_lines(part.texts))

        return self._gather(one, parts, "Naming themes")

    def merge_themes(self, found: Sequence[ThemeLists]) -> list[Themes]:
        """Make one list of each criterion's themes, many calls at a time."""

        async def one(lists: ThemeLists) -> Themes:
            return await self._themes(
                "merge", lists.criterion, MOST_MERGED, themes=_theme_lines(lists.themes)
            )

        return self._gather(one, found, "Merging themes")

    def label_reasons(self, parts: Sequence[Reasons]) -> list[Labels]:
        """Say of each reason which themes it speaks of, many calls at a time."""

        async def one(part: Reasons) -> Labels:
            shown = {
                "themes": enclose("element", _theme_lines(part.themes)),
                "reasons": enclose("material", _number_lines(part.texts)),
            }
            request = self._request("label", part.criterion, shown, LabelsShape, count=len(part.texts))
            return await self._items(
                request, lambda text: read_labels(text, len(part.texts), len(part.themes))
            )

        return self._gather(one, parts, "Labelling reasons")

    def _request(
        self,
        task: str,
        criterion: Criterion,
        shown: dict[str, str],
        shape: type[BaseModel],
        *,
        most: int | None = None,
        count: int = 0,
    ) -> ChatRequest:
        system, user = self._prompts[task]
        return self._task_request(
            f"themes_{task}",
            system.render() if most is None else system.render(most=str(most)),
            user.render(criterion=self._criteria[criterion], **shown),
            shape,
            _TOKENS_PER_LABEL * count,
        )

    async def _themes(self, task: str, criterion: Criterion, most: int, **material: str) -> Themes:
        shown = {name: enclose("material", text) for name, text in material.items()}
        request = self._request(task, criterion, shown, ThemesShape, most=most)
        return await self._items(request, lambda text: read_themes(text, most))


def _number_lines(texts: Sequence[str]) -> str:
    return "\n".join(f"{place}. {' '.join(text.split())}" for place, text in enumerate(texts, 1))


def _theme_lines(themes: Sequence[Theme]) -> str:
    return _number_lines([f"{theme.name}: {theme.description}" for theme in themes])


def read_themes(text: str, most: int) -> tuple[tuple[Theme, ...], bool]:
    """Return the first ``most`` themes of a reply, each name once, and whether its JSON was repaired.

    Raises:
        NotUsable: there is none, or one without a name.
    """
    reply, repaired = read_typed(text, ThemesShape)
    found: dict[str, Theme] = {}
    for one in reply.themes:
        shown = Theme(one.name[:_LONGEST_NAME], (one.description or one.name)[:_LONGEST_DESCRIPTION])
        found.setdefault(shown.name.casefold(), shown)
    if not found or "" in found:
        raise NotUsable('"themes" must be a list of themes, each with a "name"')
    return tuple(found.values())[:most], repaired


def read_labels(text: str, reasons: int, themes: int) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """Return the places of the themes of reasons 1…``reasons``, and whether the JSON was repaired.

    Raises:
        NotUsable: a reason has no list, two lists that differ, or a number that is none of 1…``themes``, or a
            list is of no reason.
    """
    reply, repaired = read_typed(text, LabelsShape)
    given: dict[int, tuple[int, ...]] = {}
    for label in reply.labels:
        if not 1 <= label.id <= reasons:
            raise NotUsable(f'a list has no "id" from 1 to {reasons}')
        if not all(1 <= one <= themes for one in label.themes):
            raise NotUsable(f'"themes" of reason {label.id} must be numbers from 1 to {themes}')
        places = tuple(sorted({one - 1 for one in label.themes}))
        if given.setdefault(label.id, places) != places:
            raise NotUsable(f"it gives reason {label.id} different themes")
    if missing := [str(one) for one in range(1, reasons + 1) if one not in given]:
        raise NotUsable(f'it gives no list "themes" for reason {", ".join(missing[:10])} of {reasons}')
    return tuple(given[one] for one in range(1, reasons + 1)), repaired
