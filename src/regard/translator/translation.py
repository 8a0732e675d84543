"""A translation: the output of one line, with scores, attention and alternatives."""

from dataclasses import asdict, dataclass, field
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from jaxtyping import Float
from typing_extensions import deprecated

from regard.errors import InputError
from regard.text.unknown_tokens import UnknownToken
from regard.translator import messages
from regard.viz.alignment import (
    ATTENTION,
    DECODER_SELF_ATTENTION,
    ENCODER_SELF_ATTENTION,
    Alignment,
)
from regard.viz.attention_heads import AttentionHeads
from regard.viz.html_heatmap import to_html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

END = "■"
"""The label of EOS in drawings: it has attention too."""

START = "▷"
"""The label of BOS, the first token that a decoder is fed: it is looked at too."""


@final
@dataclass(frozen=True)
class Branch:
    """A token that was in the beam, or an end (`</s>`).

    Branches are in order of creation: `parent` is the index of the previous token, None at the
    beginning. `total` is the sum of scores up to here; `in_nbest` says whether a returned target,
    or another tokenization of one, goes through it.
    """

    parent: int | None
    token: str
    score: float
    total: float
    in_nbest: bool


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Translation:
    """One target of one source, with scores and attention.

    `token_scores` and `attention` have one more row than `tokens`, for EOS. The attention is the
    mean over layers and heads; `layers` has each of them. Of an ensemble, it is the attention of
    the first model. The model never reads a blank source: its translation has neither
    `token_scores` nor attention.

    `rank_score` is score / length^α, with the length of `token_scores` and the setting
    `length_penalty` as α; it ranks the alternatives. `alternatives` begin with this translation and
    differ in text; if several hypotheses have one text, there are fewer than `nbest`.

    `encoder_self_attention` and `decoder_self_attention` are there if `self_attention` was
    requested and the model has it, laid out as `layers`: query, layer, head, key. Row t of the
    decoder's is the step that writes token t, the last one EOS. Its columns are the tokens that are
    fed: BOS, then token 0, and so on; those to come have weight 0.

    `candidates`, `alternatives` and `tree` are empty unless requested. `unknown` says for each
    token whether the model generated `<unk>`; its text is then a copy or a mark. `unknown_source`
    names the source tokens that the model does not know, each with its position.
    """

    source: str
    text: str
    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...]
    rank_score: float
    layers: Float[np.ndarray, "T L H S"] | None
    candidates: tuple[tuple[tuple[str, float], ...], ...] = field(default=())
    alternatives: tuple["Translation", ...] = field(default=())
    tree: tuple[Branch, ...] = field(default=())
    notes: tuple[str, ...] = ()
    unknown: tuple[bool, ...] = field(default=())
    encoder_self_attention: Float[np.ndarray, "S _ _ S"] | None = field(default=None)
    decoder_self_attention: Float[np.ndarray, "T _ _ T"] | None = field(default=None)
    unknown_source: tuple[UnknownToken, ...] = ()

    @property
    def score(self) -> float:
        """Σ token_scores = log p(target | source)."""
        return float(sum(self.token_scores))

    @property
    def known_tokens(self) -> tuple[str | None, ...]:
        """The tokens, None for each unknown one: what `prefix` and `rescore` take."""
        if not self.unknown:
            return self.tokens
        return tuple(
            None if unknown else token
            for token, unknown in zip(self.tokens, self.unknown, strict=True)
        )

    @property
    @deprecated("Translation.symbols is now Translation.known_tokens.")
    def symbols(self) -> tuple[str | None, ...]:
        """The old name of `known_tokens`."""
        return self.known_tokens

    @property
    def attention(self) -> Float[np.ndarray, "T S"] | None:
        """The attention weights of each token; None if the model has no attention."""
        return None if self.layers is None else self.layers.mean(axis=(1, 2))

    @property
    def alignment(self) -> Alignment | None:
        """The attention with its tokens, for drawing; None if there is nothing to draw."""
        if self.attention is None or not self.source_tokens:
            return None
        return Alignment(self.source_tokens, (*self.tokens, END), self.attention)

    def heads(
        self, which: Literal["cross", "encoder", "decoder"] = "cross"
    ) -> AttentionHeads | None:
        """Return the weights of every layer and head, for drawing; None if there are none.

        `cross` is the attention to the source, `encoder` and `decoder` are the self-attention of
        each, which is there if it was requested.
        """
        if not self.source_tokens:
            return None
        source, target = self.source_tokens, (*self.tokens, END)
        match which:
            case "cross":
                weights, rows, columns, caption = self.layers, target, source, ATTENTION
            case "encoder":
                weights = self.encoder_self_attention
                rows, columns, caption = source, source, ENCODER_SELF_ATTENTION
            case _:
                weights, rows = self.decoder_self_attention, target
                columns, caption = (START, *self.tokens), DECODER_SELF_ATTENTION
        return None if weights is None else AttentionHeads(columns, rows, weights, caption)

    def to_json(self, *, attention: bool = True) -> dict[str, Any]:
        """Return what `json.dumps` takes; attention is often large and can be left out."""
        fields: dict[str, Any] = {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "rank_score": self.rank_score,
            "tokens": list(self.tokens),
            "source_tokens": list(self.source_tokens),
            "token_scores": list(self.token_scores),
        }
        if attention:
            fields["attention"] = None if self.attention is None else self.attention.tolist()
            for name in ("encoder_self_attention", "decoder_self_attention"):
                if (weights := getattr(self, name)) is not None:
                    fields[name] = weights.tolist()
        if any(self.unknown):
            fields["unknown"] = list(self.unknown)
        if self.unknown_source:
            fields["unknown_source"] = [asdict(token) for token in self.unknown_source]
        if self.notes:
            fields["notes"] = list(self.notes)
        if self.candidates:
            fields["candidates"] = [
                [list(pair) for pair in position] for position in self.candidates
            ]
        if self.alternatives:
            fields["alternatives"] = [x._alternative_json() for x in self.alternatives]
        if self.tree:
            fields["tree"] = [asdict(branch) for branch in self.tree]
        return fields

    def _alternative_json(self) -> dict[str, Any]:
        """Return the JSON of an alternative."""
        fields: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "rank_score": self.rank_score,
            "tokens": list(self.tokens),
            "token_scores": list(self.token_scores),
        }
        return fields | ({"unknown": list(self.unknown)} if any(self.unknown) else {})

    def save(self, path: str | PathLike[str]) -> None:
        """Draw the attention into a file; its ending is the format: svg, html, png or pdf."""
        alignment = self._drawable()
        alignment.save(path, lines=(self.source, self.text))

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the attention with matplotlib, into axes or a new figure; return the axes."""
        return self._drawable().plot(axes, lines=(self.source, self.text))

    def _drawable(self) -> Alignment:
        if self.alignment is None:
            raise InputError(messages.nothing_to_draw(blank=not self.source_tokens))
        return self.alignment

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        parts = [f"{self.source!r} → {self.text!r}"]
        if self.token_scores:
            parts.append(f"log-probability {self.score:.3f}")
        if self.layers is not None:
            T, L, H, S = self.layers.shape
            heads = f" of {L} layers × {H} heads" if L * H > 1 else ""
            parts.append(f"attention {T} × {S}{heads}")
        parts += [f"{len(self.alternatives)} alternatives"] if self.alternatives else []
        parts += [f"{len(self.notes)} note{'s' * (len(self.notes) > 1)}"] if self.notes else []
        return f"Translation({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show the line and its heatmap in a notebook."""
        line = f'<p dir="auto">{escape(self.source)} → <b>{escape(self.text)}</b></p>'
        return line if self.alignment is None else line + to_html(self.alignment)
