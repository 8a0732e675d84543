"""The bodies of requests and responses (decision 0004); requests are validated strictly.

The search settings of a request are generated from `SearchConfig`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from regard.config.checks import named_part, number_of, types_of
from regard.config.documentation import document
from regard.config.renamed_settings import RENAMED_SETTINGS, SUCCESSOR_VALUES, with_new_names
from regard.config.settings import MIN_TEMPERATURE, SearchConfig

Count = Annotated[int, Field(ge=0)]
Step = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})$")]

SERVER_ONLY = {"batch_size"}
"""Search settings that requests cannot set."""

NOTES = {"temperature": f"Values between 0 and {MIN_TEMPERATURE} are refused."}
PYDANTIC_BOUNDS = {"at least": "ge", "above": "gt", "at most": "le", "below": "lt"}
"""Kind of bound → its name in pydantic."""


class StrictModel(BaseModel):
    """A body that refuses unknown fields and values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def search_fields() -> dict[str, Any]:
    """Return an optional field for each search setting, for pydantic's `create_model`."""
    types = types_of(SearchConfig)
    current = {
        entry.name: (
            _request_type(entry.name, types[entry.name]) | None,
            Field(None, description=" ".join(filter(None, (entry.text, NOTES.get(entry.name))))),
        )
        for entry in document(SearchConfig)
        if entry.name not in SERVER_ONLY
    }
    return current | dict(_old_fields())


def _old_fields() -> Iterator[tuple[str, Any]]:
    """Yield a deprecated field for each old name of a search setting."""
    for old, new in RENAMED_SETTINGS.items():
        section, _, name = old.partition(".")
        if section == "search":
            successor = f"{new.removeprefix('search.')} = {SUCCESSOR_VALUES[old][True]}"
            description = f"Old name: true is {successor}."
            extra: Any = {"deprecated": True}
            yield name, (bool | None, Field(None, description=description, json_schema_extra=extra))


def _request_type(name: str, hint: Any) -> Any:
    """Return the type of a setting with its bounds as pydantic constraints."""
    if named_part(hint) is not None:
        # names can be registered later; the request is checked against those
        return str
    if (number := number_of(hint)) is None:
        return hint
    kind, bounds = number
    # of whole numbers the server has lower limits of its own
    bounds = tuple(x for x in bounds if kind is float or not x.is_ceiling)
    limits: Any = {PYDANTIC_BOUNDS[x.words]: x.limit for x in bounds}
    return Annotated[kind, Field(**limits)]


if TYPE_CHECKING:
    SearchSettings = StrictModel
else:
    SearchSettings = create_model("SearchSettings", __base__=StrictModel, **search_fields())


class TranslateRequest(SearchSettings):
    """Lines to translate, with options; the model's own search settings are the defaults."""

    text: str | list[str] = Field(
        description="One line or several. A blank line is translated as a blank line."
    )
    model: str | None = Field(None, description="Name of the model. Default: the first one.")
    attention: bool = Field(False, description="Return the attention of each token.")
    layers: bool = Field(False, description="Return the attention of every layer and head.")
    self_attention: bool = Field(
        False, description="Return the self-attention of encoder and decoder."
    )
    influence: bool = Field(False, description="Return the influence on each token, by gradient.")
    prefix: str | list[str | None] = Field(
        "", description="Start of every output, as text or as tokens; null is the unknown token."
    )
    pin: dict[Step, Count] = Field({}, description="Forced attention: step → source position.")
    banned: list[str] = Field([], description="Tokens that are neither generated nor copied.")
    candidates: Annotated[int, Field(ge=0, le=20)] = Field(
        0, description="Number of likeliest tokens to return at each step."
    )
    tree: bool = Field(False, description="Return all hypotheses of the beam search.")
    unknown: Literal["copy", "mark"] = Field(
        "copy",
        description="For an unknown token: copy the source token it attends to most, or print �.",
    )

    def search_settings(self) -> dict[str, Any]:
        """Return the search settings that the request gives."""
        settings = {name: getattr(self, name) for name in SearchSettings.model_fields}
        given_settings = {name: value for name, value in settings.items() if value is not None}
        return with_new_names({"search": given_settings}, warn=False)["search"]

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


class RescorePair(StrictModel):
    """A source and the target to score."""

    source: str = Field(description="A line that is not blank.")
    target: str | list[str | None] = Field(
        description="As text or as tokens; null is the unknown token."
    )


class RescoreRequest(StrictModel):
    """Targets to score; the model does not search."""

    pairs: list[RescorePair] = Field(description="Sources with their targets.")
    model: str | None = Field(None, description="Name of the model. Default: the first one.")
    attention: bool = Field(False, description="Return the attention of each token.")
    layers: bool = Field(False, description="Return the attention of every layer and head.")
    self_attention: bool = Field(
        False, description="Return the self-attention of encoder and decoder."
    )
    influence: bool = Field(False, description="Return the influence on each token, by gradient.")


Row = list[float]


class AttentionShape(BaseModel):
    """The number of attention layers, and of heads in each."""

    layers: int
    heads: int


class SelfAttentionInfo(BaseModel):
    """The shape of the self-attention of encoder and decoder; null for a side without it."""

    encoder: AttentionShape | None
    decoder: AttentionShape | None


class AlternativeOutput(BaseModel):
    """Another output of the beam search."""

    text: str
    tokens: list[str]
    token_scores: Row
    score: float
    rank_score: float
    unknown: list[bool] = []


class SearchTreeBranch(BaseModel):
    """A hypothesis of the beam search, by its last token."""

    parent: int | None = Field(
        description="Index of the branch that this one extends; null for the first token."
    )
    token: str
    score: float
    total: float
    in_nbest: bool


class UnknownSourceToken(BaseModel):
    """A source token that the model does not know."""

    position: int = Field(description="Its index in source_tokens.")
    token: str
    similar: str | None = Field(
        description="Text that the model knows and that differs only in `difference`, if any."
    )
    difference: Literal["case", "width", "form"] | None = Field(
        description="case; width (fullwidth or halfwidth); or form (Unicode normalization)."
    )


class TranslatedLine(BaseModel):
    """One translated line; `token_scores` and the weights have one more row, for the end."""

    source: str
    text: str
    score: float = Field(description="Sum of token_scores: log p(target | source).")
    rank_score: float = Field(description="score / length^length_penalty, by which outputs rank.")
    tokens: list[str]
    source_tokens: list[str]
    token_scores: Row
    unknown: list[bool] = Field(
        [], description="For each token, whether it replaces an unknown one; absent if none does."
    )
    unknown_source: list[UnknownSourceToken] = Field(
        [], description="Source tokens that the model does not know; absent if it knows all."
    )
    attention: list[Row] = Field([], description="[T,S], averaged over layers and heads.")
    attention_shape: AttentionShape | None = Field(
        None, description="What `attention` averages over, if there is more than one."
    )
    layers: list[list[list[Row]]] = Field(
        [], description="[T,L,H,S], if requested and there is more than one."
    )
    encoder_self_attention: list[list[list[Row]]] = Field(
        [], description="[S,L,H,S]: query, layer, head, key; absent if the encoder has none."
    )
    decoder_self_attention: list[list[list[Row]]] = Field(
        [], description="[T,L,H,T]; column 0 is BOS and column j is token j − 1, which was fed."
    )
    influence: list[Row] = Field([], description="[T,S], by gradient; a row's sum is 1.")
    candidates: list[list[tuple[str, float]]] = []
    alternatives: list[AlternativeOutput] = []
    tree: list[SearchTreeBranch] = []
    notes: list[str] = []


class TranslateResponse(BaseModel):
    """The translations of a request, in the order of its lines."""

    model: str
    version: str | None = Field(None, description="Version of the model; see /v1/models.")
    translations: list[TranslatedLine]


class SideInfo(BaseModel):
    """The tokenizer and vocabulary size of a model's source or target."""

    tokenizer: str
    symbols: int
    case: Literal["keep", "lower", "upper"] = Field(
        description="The case in which the model reads its sources; keep is that of the line."
    )


class ModelInfo(BaseModel):
    """A served model."""

    name: str
    file: str | None = Field(description="Name of the model file; null if there is none.")
    version: str | None = Field(description="The first 12 digits of sha256.")
    sha256: str | None = Field(description="Digest of the model file.")
    attention: AttentionShape | None
    self_attention: SelfAttentionInfo
    source: SideInfo
    target: SideInfo
    parameters: int
    max_source_length: int
    search: dict[str, Any]
    summary: dict[str, Any]


class ModelsResponse(BaseModel):
    """The served models; the first is the default."""

    models: list[ModelInfo]
    limits: dict[str, float]


class HealthStatus(BaseModel):
    """The state of the server."""

    status: Literal["ok", "ready"]


class ProblemDetails(BaseModel):
    """Why a request failed (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


SCHEMAS: list[type[BaseModel]] = [
    TranslateRequest,
    RescoreRequest,
    TranslateResponse,
    ModelsResponse,
    HealthStatus,
    ProblemDetails,
]
