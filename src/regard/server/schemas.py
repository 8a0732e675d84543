"""The bodies of requests and answers (decision 0004); requests are read strictly.

What a request may say of the search is made from `SearchConfig`, where it is declared.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from regard.config.checks import Bound, at_most, named_part, number_of, types_of
from regard.config.documentation import document
from regard.config.settings import SearchConfig
from regard.config.toml import RENAMED

Count = Annotated[int, Field(ge=0)]
Step = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})$")]

MIN_TEMPERATURE = 0.001
"""Smallest temperature except 0: logits divided by less would overflow."""

NOT_IN_A_REQUEST = {"batch_size"}
"""Search settings that are the server's own business."""

STRICTER: dict[str, tuple[Bound, ...]] = {
    "length_penalty": (at_most(10),),
    "temperature": (at_most(100),),
}
"""Bounds of a request besides those of the settings."""

NOTES = {"temperature": f"Between 0 and {MIN_TEMPERATURE} is refused."}
CONSTRAINTS = {"at least": "ge", "above": "gt", "at most": "le", "below": "lt"}
"""What pydantic calls each kind of bound."""


class StrictModel(BaseModel):
    """A body in which an unknown field, or a value of another type, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def search_fields() -> dict[str, Any]:
    """Return a field for each search setting, as `create_model` takes it; all may be left out."""
    types = types_of(SearchConfig)
    current = {
        entry.name: (
            _type_in_a_request(entry.name, types[entry.name]) | None,
            Field(None, description=" ".join(filter(None, (entry.text, NOTES.get(entry.name))))),
        )
        for entry in document(SearchConfig)
        if entry.name not in NOT_IN_A_REQUEST
    }
    return current | dict(_old_fields())


def _old_fields() -> Iterator[tuple[str, Any]]:
    """Yield a field for each old name of a search setting; it says what it is called now."""
    for old, (new, successors) in RENAMED.items():
        section, _, name = old.partition(".")
        if section == "search":
            successor = f"{new.removeprefix('search.')} = {successors[True]}"
            description = f"Old name: true is {successor}."
            extra: Any = {"deprecated": True}
            yield name, (bool | None, Field(None, description=description, json_schema_extra=extra))


def _type_in_a_request(name: str, hint: Any) -> Any:
    """Return a setting's type with its bounds, as pydantic states them."""
    if named_part(hint) is not None:
        # what it may name is known when the request comes
        return str
    if (number := number_of(hint)) is None:
        return hint
    kind, bounds = number
    limits: Any = {CONSTRAINTS[x.words]: x.limit for x in (*bounds, *STRICTER.get(name, ()))}
    return Annotated[kind, Field(**limits)]


if TYPE_CHECKING:
    SearchSettings = StrictModel
else:
    SearchSettings = create_model("SearchSettings", __base__=StrictModel, **search_fields())


class TranslateRequest(SearchSettings):
    """Lines to translate, and how; search settings that are left out are the model's own."""

    text: str | list[str] = Field(description="A line or several; a blank one has a blank answer.")
    model: str | None = Field(None, description="By name; the first one without.")
    attention: bool = Field(False, description="Also where each token looked.")
    layers: bool = Field(False, description="Attention of every layer and head, not only the mean.")
    influence: bool = Field(False, description="Also what moved each token, by gradient.")
    prefix: str | list[str | None] = Field(
        "", description="What every target begins with; as tokens, null is an unknown one."
    )
    pin: dict[Step, Count] = Field({}, description="Where a step has to look: step to position.")
    banned: list[str] = Field([], description="Tokens that are neither written nor copied.")
    candidates: Annotated[int, Field(ge=0, le=20)] = Field(
        0, description="So many of the best tokens at each position."
    )
    tree: bool = Field(False, description="Also what the search ever kept.")
    unknown: Literal["copy", "mark"] = Field(
        "copy", description="An unknown symbol: copy what was looked at, or mark it �."
    )

    def search_settings(self) -> dict[str, Any]:
        """Return the search settings that the request gives."""
        settings = {name: getattr(self, name) for name in SearchSettings.model_fields}
        return {name: value for name, value in settings.items() if value is not None}

    def call_options(self) -> dict[str, Any]:
        """Return what `Translator.prepare` takes besides lines and search settings."""
        return {
            "prefix": self.prefix,
            "pin": {int(step): position for step, position in self.pin.items()},
            "banned": self.banned,
            "candidates": self.candidates,
            "tree": self.tree,
            "unknown": self.unknown,
        }


class Pair(StrictModel):
    """A source and the target that is forced through the model."""

    source: str = Field(description="A line; not blank.")
    target: str | list[str | None] = Field(
        description="As text, or as tokens, null being an unknown one."
    )


class RescoreRequest(StrictModel):
    """Given targets: what would the model have said of each token?"""

    pairs: list[Pair] = Field(description="Sources with their targets.")
    model: str | None = Field(None, description="By name; the first one without.")
    attention: bool = Field(False, description="Also where each token looked.")
    layers: bool = Field(False, description="Attention of every layer and head, not only the mean.")
    influence: bool = Field(False, description="Also what moved each token, by gradient.")


Row = list[float]


class Looks(BaseModel):
    """How often a model looks at each step."""

    layers: int
    heads: int


class Alternative(BaseModel):
    """Another target that the search found."""

    text: str
    tokens: list[str]
    token_scores: Row
    score: float
    rank_score: float
    unknown: list[bool] = []


class Branch(BaseModel):
    """A token that the search kept for a while."""

    parent: int | None = Field(description="Place of the branch before, null at the beginning.")
    token: str
    score: float
    total: float
    kept: bool


class Translation(BaseModel):
    """What came of one line; `token_scores` and the rows of weights have one more for the end."""

    source: str
    text: str
    score: float = Field(description="Sum of token_scores: log p(target | source).")
    rank_score: float = Field(description="score / length^length_penalty, by which lines rank.")
    tokens: list[str]
    source_tokens: list[str]
    token_scores: Row
    unknown: list[bool] = Field(
        [], description="For each token, whether it stands for an unknown one; where any does."
    )
    attention: list[Row] = Field([], description="[T,S], the mean over layers and heads.")
    looks: Looks | None = Field(
        None, description="What that is the mean of, where there are several."
    )
    layers: list[list[list[Row]]] = Field(
        [], description="[T,L,H,S], where there are several and they were asked for."
    )
    influence: list[Row] = Field([], description="[T,S], by gradient; a row's sum is 1.")
    candidates: list[list[tuple[str, float]]] = []
    alternatives: list[Alternative] = []
    tree: list[Branch] = []
    notes: list[str] = []


class Answer(BaseModel):
    """The translations of a request, in the order of its lines."""

    model: str
    translations: list[Translation]


class Symbols(BaseModel):
    """One side of a model's pairs."""

    tokenizer: str
    symbols: int


class Model(BaseModel):
    """A model that is served."""

    name: str
    attention: Looks | None
    source: Symbols
    target: Symbols
    parameters: int
    max_source_length: int
    search: dict[str, Any]
    summary: dict[str, Any]


class Models(BaseModel):
    """What is served, the first one being the one that is asked without a name."""

    models: list[Model]
    limits: dict[str, float]


class Status(BaseModel):
    """Whether the server is there."""

    status: Literal["ok", "ready"]


class Problem(BaseModel):
    """What was refused, and why (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


SCHEMAS: list[type[BaseModel]] = [TranslateRequest, RescoreRequest, Answer, Models, Status, Problem]
