"""Which documents a run answers its list of questions from."""

from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from graphrag_dagster.core.resource import Resource
from graphrag_dagster.core.search.filters import Filters
from graphrag_dagster.errors import QuestionError

_FILTERS = TypeAdapter(Filters)


class ListFilters(Resource):
    """Restricts the answers of a run to some documents."""

    given: dict[str, Any] = Field(
        default_factory=dict,
        description="documents, folders, date_from, date_to, where and soft, as a question takes them; "
        "default: all documents",
    )

    @property
    def filters(self) -> Filters:
        """The filters of this run.

        Raises:
            QuestionError: there is no such filter, or it cannot have that value.
        """
        try:
            return _FILTERS.validate_python(self.given)
        except ValidationError as error:
            first = error.errors()[0]
            raise QuestionError(f"filters.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
