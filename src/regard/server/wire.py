"""What goes over the wire, as decision 0004 has it: requests, read strictly, and answers."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Whole = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Step = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})$")]


class _Strict(BaseModel):
    """A field that nobody knows, or a value of another type, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class SearchOptions(_Strict):
    """How to search; what is left out is the model's own."""

    beam_size: Whole | None = Field(None, description="Hypotheses kept at each position.")
    nbest: Whole | None = Field(None, description="Outputs for a line, best first.")
    length_penalty: Annotated[float, Field(ge=0, le=10)] | None = Field(
        None, description="Exponent of the length that a hypothesis' score is divided by."
    )
    stop: Literal["full", "likeliest"] | None = Field(
        None,
        description="When a beam is done: full, as many have ended as are kept; likeliest, and "
        "none that is still being written is likelier.",
    )
    max_length: Whole | None = Field(None, description="Most symbols of an output.")
    min_length: Count | None = Field(None, description="Fewest symbols of an output.")
    same_length: bool | None = Field(None, description="As many symbols as the source has.")
    same_pattern: bool | None = Field(
        None, description="As many, repeated where the source repeats one, only marks copied."
    )
    temperature: Annotated[float, Field(ge=0, le=100)] | None = Field(
        None,
        description="Draw each symbol, from logits divided by this, at least 0.001; 0 for not.",
    )
    top_k: Count | None = Field(None, description="Sample among so many, 0 for all.")
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="Sample among the likeliest that together have this probability."
    )
    seed: Count | None = Field(None, description="Where the randomness of sampling begins.")


class TranslateRequest(SearchOptions):
    """Lines to translate, and how."""

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

    def asked(self) -> dict[str, Any]:
        """Return what `Translator.ask` takes besides the lines; what was left out is left out."""
        search = {name: getattr(self, name) for name in SearchOptions.model_fields}
        return {name: value for name, value in search.items() if value is not None} | {
            "prefix": self.prefix,
            "pin": {int(step): position for step, position in self.pin.items()},
            "banned": self.banned,
            "candidates": self.candidates,
            "tree": self.tree,
            "unknown": self.unknown,
        }


class RescorePair(_Strict):
    """A source and the target to score."""

    source: str = Field(description="A line; not blank.")
    target: str | list[str | None] = Field(
        description="As text, or as tokens, null being an unknown one."
    )


class RescoreRequest(_Strict):
    """Targets to score; the model does not search."""

    pairs: list[RescorePair] = Field(description="Sources with their targets.")
    model: str | None = Field(None, description="By name; the first one without.")
    attention: bool = Field(False, description="Also where each token looked.")
    layers: bool = Field(False, description="Attention of every layer and head, not only the mean.")
    influence: bool = Field(False, description="Also what moved each token, by gradient.")


Row = list[float]


class AttentionShape(BaseModel):
    """The number of attention layers, and of heads in each."""

    layers: int
    heads: int


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
    kept: bool


class TranslatedLine(BaseModel):
    """One translated line; `token_scores` and the weights have one more row, for the end."""

    source: str
    text: str
    score: float = Field(description="Sum of token_scores: log p(target | source).")
    rank_score: float = Field(description="score / length^length_penalty, by which lines rank.")
    tokens: list[str]
    source_tokens: list[str]
    token_scores: Row
    unknown: list[bool] = Field(
        [], description="For each token, whether it replaces an unknown one; absent if none does."
    )
    attention: list[Row] = Field([], description="[T,S], averaged over layers and heads.")
    attention_shape: AttentionShape | None = Field(
        None, description="What `attention` averages over, if there is more than one."
    )
    layers: list[list[list[Row]]] = Field(
        [], description="[T,L,H,S], if requested and there is more than one."
    )
    influence: list[Row] = Field([], description="[T,S], by gradient; a row's sum is 1.")
    candidates: list[list[tuple[str, float]]] = []
    alternatives: list[AlternativeOutput] = []
    tree: list[SearchTreeBranch] = []
    notes: list[str] = []


class TranslateResponse(BaseModel):
    """The translations of a request, in the order of its lines."""

    model: str
    translations: list[TranslatedLine]


class SideInfo(BaseModel):
    """The tokenizer and vocabulary size of a model's source or target."""

    tokenizer: str
    symbols: int


class ModelInfo(BaseModel):
    """A served model."""

    name: str
    attention: AttentionShape | None
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
