"""What came of one line: its target, and how it came about."""

from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any, final

import numpy as np
from jaxtyping import Float

from regard.viz.alignment import Alignment
from regard.viz.html_heatmap import to_html

END = "■"
"""How the end of a target is drawn: it looked somewhere too."""


@final
@dataclass(frozen=True)
class Branch:
    """A token that the search kept for a while, or an end (`</s>`) that it found.

    Branches stand in the order in which they grew: `parent` is the place of the one before, None
    at the beginning. `total` is the sum of scores up to here; `in_nbest` says whether a
    returned target, or another tokenization of one, goes through it.
    """

    parent: int | None
    token: str
    score: float
    total: float
    in_nbest: bool


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Translation:
    """One target of one source, and how it came about.

    `token_scores` and the rows of `attention` are one more than `tokens`: the last is EOS. The
    attention is the mean over layers and heads where there are several; `layers` has them apart.
    A blank source was never given to the model, so that nothing was scored: it has no
    `token_scores`, and no attention whatever the model. Of models that vote, the attention is the
    first one's.

    `rank_score` is score / length^α, the length being that of `token_scores` and α the setting
    `length_penalty`: what alternatives are ranked by. `alternatives` begin with this one and differ
    in text; where the search found a text twice, there are fewer than `nbest`. What was not asked
    for (`candidates`, `alternatives`, `tree`) is empty. `unknown` says of each token whether the
    model wrote its unknown symbol there: what is printed was copied, or is a mark.
    """

    source: str
    text: str
    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...]
    rank_score: float
    layers: Float[np.ndarray, "T L H S"] | None = field(repr=False)
    candidates: tuple[tuple[tuple[str, float], ...], ...] = field(default=(), repr=False)
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    tree: tuple[Branch, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    unknown: tuple[bool, ...] = field(default=(), repr=False)

    @property
    def score(self) -> float:
        """Σ token_scores = log p(target | source)."""
        return float(sum(self.token_scores))

    @property
    def symbols(self) -> tuple[str | None, ...]:
        """What `prefix` and `rescore` take for this target: its tokens, None for an unknown one."""
        if not self.unknown:
            return self.tokens
        return tuple(
            None if unknown else token
            for token, unknown in zip(self.tokens, self.unknown, strict=True)
        )

    @property
    def attention(self) -> Float[np.ndarray, "T S"] | None:
        """Where each token looked; None where the model has no attention."""
        return None if self.layers is None else self.layers.mean(axis=(1, 2))

    @property
    def alignment(self) -> Alignment | None:
        """The attention with its tokens, for drawing; None where there is nothing to draw."""
        if self.attention is None or not self.source_tokens:
            return None
        return Alignment(self.source_tokens, (*self.tokens, END), self.attention)

    def to_json(self, *, attention: bool = True) -> dict[str, Any]:
        """Return what `json.dumps` takes; attention, which may be long, can be left out."""
        shown: dict[str, Any] = {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "rank_score": self.rank_score,
            "tokens": list(self.tokens),
            "source_tokens": list(self.source_tokens),
            "token_scores": list(self.token_scores),
        }
        if attention:
            shown["attention"] = None if self.attention is None else self.attention.tolist()
        if any(self.unknown):
            shown["unknown"] = list(self.unknown)
        if self.notes:
            shown["notes"] = list(self.notes)
        if self.candidates:
            shown["candidates"] = [[list(pair) for pair in place] for place in self.candidates]
        if self.alternatives:
            shown["alternatives"] = [x._briefly() for x in self.alternatives]
        if self.tree:
            shown["tree"] = [asdict(branch) for branch in self.tree]
        return shown

    def _briefly(self) -> dict[str, Any]:
        """Return what an alternative tells."""
        shown: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "rank_score": self.rank_score,
            "tokens": list(self.tokens),
            "token_scores": list(self.token_scores),
        }
        return shown | ({"unknown": list(self.unknown)} if any(self.unknown) else {})

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Show the line and its heatmap in a notebook."""
        line = f'<p dir="auto">{escape(self.source)} → <b>{escape(self.text)}</b></p>'
        return line if self.alignment is None else line + to_html(self.alignment)
