"""The library's front door: a model file → Translator → Translation.

Whatever is given back can be traced: tokens, the score of each, and the attention that was used.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Literal, final, overload

import numpy as np
import torch
from jaxtyping import Float

from regard.config.settings import SearchConfig, Settings
from regard.errors import ConfigError, InputError
from regard.models.seq2seq import Seq2Seq
from regard.search import Hypothesis, Options, Request, TreeNode, search
from regard.search.tiles import ROWS, Tiles
from regard.store import Saved, load_model, save_model
from regard.symbols import BOS, EOS, UNKNOWN
from regard.text.copying import replace_unknown
from regard.viz.alignment import Alignment
from regard.viz.html import to_html

END = "■"
"""How the end of a target is drawn: it looked somewhere too."""

Unknown = Literal["copy", "mark"]


@final
@dataclass(frozen=True)
class Branch:
    """A token that the search kept for a while, or an end (`</s>`) that it found.

    Branches stand in the order in which they grew: `parent` is the place of the one before, None
    at the beginning. `total` is the sum of scores up to here; `kept` says that a target given back
    goes through it.
    """

    parent: int | None
    token: str
    score: float
    total: float
    kept: bool


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Translation:
    """One target of one source, and how it came about.

    `token_scores` and the rows of `attention` are one more than `tokens`: the last is EOS. The
    attention is the mean over layers and heads where there are several; `layers` has them apart.
    What was not asked for (`candidates`, `alternatives`, which begin with this one, `tree`) is
    empty. Of models that vote, the attention is the first one's.
    """

    source: str
    text: str
    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...]
    layers: Float[np.ndarray, "T L H S"] | None = field(repr=False)
    candidates: tuple[tuple[tuple[str, float], ...], ...] = field(default=(), repr=False)
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    tree: tuple[Branch, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Σ token_scores = log p(target | source)."""
        return float(sum(self.token_scores))

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

    def to_json(self) -> dict[str, Any]:
        """Return what `json.dumps` takes."""
        shown = {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "tokens": list(self.tokens),
            "source_tokens": list(self.source_tokens),
            "token_scores": list(self.token_scores),
            "attention": None if self.attention is None else self.attention.tolist(),
        }
        if self.notes:
            shown["notes"] = list(self.notes)
        if self.candidates:
            shown["candidates"] = [[list(pair) for pair in place] for place in self.candidates]
        if self.alternatives:
            shown["alternatives"] = [{"text": x.text, "score": x.score} for x in self.alternatives]
        if self.tree:
            shown["tree"] = [asdict(branch) for branch in self.tree]
        return shown

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Show the line and its heatmap in a notebook."""
        line = f'<p dir="auto">{escape(self.source)} → <b>{escape(self.text)}</b></p>'
        return line if self.alignment is None else line + to_html(self.alignment)


@final
class Translator:
    """One model, or several that vote: their probabilities are averaged, word by word."""

    def __init__(self, *members: Saved) -> None:
        first = members[0]
        for number, member in enumerate(members, start=1):
            if (member.source, member.target) != (first.source, first.target):
                raise InputError(
                    f"model {number} has other vocabularies than model 1, but models that vote "
                    "must share them; models trained on the same pairs would do"
                )
        self.members = members
        self.settings: Settings = first.settings
        self.summary: dict[str, Any] = first.summary
        self._source, self._target = first.source, first.target

    @property
    def models(self) -> list[Seq2Seq]:
        """What computes."""
        return [member.model for member in self.members]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file of its own."""
        if len(self.members) > 1:
            raise InputError("an ensemble has no file of its own; saving each model would do")
        save_model(Path(path), self.members[0])

    @overload
    def translate(self, lines: str, **options: Any) -> Translation: ...

    @overload
    def translate(self, lines: Iterable[str], **options: Any) -> list[Translation]: ...

    def translate(  # noqa: PLR0913 (all but the lines by name)
        self,
        lines: str | Iterable[str],
        *,
        prefix: str | Sequence[str] = (),
        pin: Mapping[int, int] | None = None,
        banned: Iterable[str] = (),
        candidates: int = 0,
        tree: bool = False,
        unknown: Unknown = "copy",
        progress: Callable[[int], None] | None = None,
        **settings: Any,
    ) -> Translation | list[Translation]:
        """Translate a line, or many; `settings` are those of [search], as beam_size = 5.

        A prefix is what every target begins with, as text or as tokens; `pin` maps a step, from 0,
        to the source token it has to look at; banned symbols are never written. `candidates` is
        how many of the best tokens to report at each position, `tree` asks for all that the search
        ever kept, and `progress` is told of each few lines that are done.
        """
        config = self._config(settings)
        options = Options(
            **{f.name: getattr(config, f.name) for f in fields(Options) if hasattr(config, f.name)},
            banned=frozenset(self._known(token, "banned") for token in banned),
            num_candidates=candidates,
            tree=tree,
        )
        begun = self._target.tokens(prefix) if isinstance(prefix, str) else prefix
        start = tuple(self._known(token, "prefix") for token in begun)
        texts = [lines] if isinstance(lines, str) else list(lines)
        readings = [self._read(text, f"line {n}") for n, text in enumerate(texts, start=1)]
        requests = [self._request(r, start, pin or {}) for r in readings if r.ids]
        found = iter(
            search(self.models, requests, options, batch_size=config.batch_size, progress=progress)
        )
        if progress is not None and len(requests) < len(readings):
            progress(len(readings) - len(requests))
        answers = [
            self._best(reading, next(found), unknown, config.nbest)
            if reading.ids
            else reading.nothing()
            for reading in readings
        ]
        return answers[0] if isinstance(lines, str) else answers

    def rescore(self, pairs: Iterable[tuple[str, str | Sequence[str]]]) -> list[Translation]:
        """Force given targets through the decoder: what would it have said of each word?

        A target is text or, where several rows of tokens make the same text, its tokens.
        """
        answers = []
        for number, (source, target) in enumerate(pairs, start=1):
            reading = self._read(source, f"source {number}")
            tokens = self._target.tokens(target) if isinstance(target, str) else target
            words = self._target.vocabulary.ids(tokens)
            if not reading.ids:
                raise InputError(
                    f"source {number} is blank, but it must hold text; leaving it out would do"
                )
            scores, layers = _forced(self.models, reading.ids, words)
            answers.append(
                Translation(
                    source=source,
                    text=target if isinstance(target, str) else self._target.line(target),
                    source_tokens=reading.tokens,
                    tokens=tuple(tokens),
                    token_scores=scores,
                    layers=layers,
                    notes=reading.notes,
                )
            )
        return answers

    def _config(self, settings: Mapping[str, Any]) -> SearchConfig:
        known = [f.name for f in fields(SearchConfig)]
        if strangers := [name for name in settings if name not in known]:
            raise ConfigError(
                "search",
                [f"{name} is no setting; one of {', '.join(known)} would do" for name in strangers],
            )
        given = {name: value for name, value in settings.items() if value is not None}
        if type(given.get("nbest")) is int and "beam_size" not in given:
            # as many as are asked for must be kept
            given["beam_size"] = max(given["nbest"], self.settings.search.beam_size)
        return replace(self.settings.search, **given)

    def _known(self, token: str, what: str) -> int:
        word = self._target.vocabulary.ids([token])[0]
        if word == UNKNOWN:
            raise InputError(
                f"{what} = {token!r}, but the model never writes it; a symbol of its targets "
                "would do"
            )
        return word

    def _read(self, text: str, name: str) -> "_Reading":
        """Cut a line into what the model reads; a blank one has nothing to read."""
        if not isinstance(text, str):
            raise InputError(f"{name} is of type {type(text).__name__}, but it must be text")
        tokens = self._source.tokens(text) if text.strip() else []
        limits = [self.settings.data.max_source_length]
        limits += [m.max_source_length for m in self.models if m.max_source_length is not None]
        notes = []
        if len(tokens) > min(limits):
            notes.append(
                f"the source has {len(tokens):,} symbols, but the model reads {min(limits):,}; "
                f"what follows the first {min(limits):,} was cut off"
            )
            tokens = tokens[: min(limits)]
        ids = tuple(self._source.vocabulary.ids(tokens))
        if ids and set(ids) == {UNKNOWN}:
            notes.append("the model knows no symbol of the source, so that its output is a guess")
        return _Reading(text, tuple(tokens), ids, tuple(notes))

    def _request(
        self, reading: "_Reading", prefix: tuple[int, ...], pins: Mapping[int, int]
    ) -> Request:
        for step, position in pins.items():
            if step < 0 or not 0 <= position < len(reading.ids):
                raise InputError(
                    f"pin = {{{step}: {position}}}, but it must be a step from 0 and a source "
                    f"token from 0 to {len(reading.ids) - 1}"
                )
        if pins and self.models[0].decoder.looks is None:
            raise InputError("pin was given, but the model has no attention; bahdanau2015 would do")
        return Request(reading.ids, prefix, dict(pins))

    def _best(
        self, reading: "_Reading", found: Sequence[Hypothesis], unknown: Unknown, nbest: int
    ) -> Translation:
        answers = tuple(self._translation(reading, answer, unknown) for answer in found)
        return replace(
            answers[0],
            alternatives=answers if nbest > 1 else (),
            tree=tuple(self._branch(node) for node in found[0].tree),
        )

    def _branch(self, node: TreeNode) -> Branch:
        token = self._target.vocabulary.tokens([node.word])[0]
        return Branch(node.parent, token, node.score, node.total, node.kept)

    def _translation(self, reading: "_Reading", found: Hypothesis, unknown: Unknown) -> Translation:
        vocabulary = self._target.vocabulary
        mean = None if found.weights is None else found.weights.mean(axis=(1, 2))
        tokens = replace_unknown(
            vocabulary.tokens(found.words),
            reading.tokens,
            mean,
            unknown,
            unknown=[word == UNKNOWN for word in found.words],
        )
        notes = reading.notes
        if found.cut:
            notes += (f"the output was stopped at {len(tokens):,} symbols, its greatest length",)
        return Translation(
            source=reading.text,
            text=self._target.line(tokens),
            source_tokens=reading.tokens,
            tokens=tuple(tokens),
            token_scores=found.scores,
            layers=found.weights,
            candidates=tuple(
                tuple((vocabulary.tokens([word])[0], score) for word, score in place)
                for place in found.candidates
            ),
            notes=notes,
        )


@dataclass(frozen=True)
class _Reading:
    """A line as the model reads it."""

    text: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    notes: tuple[str, ...]

    def nothing(self) -> Translation:
        """Answer nothing, so that line counts match."""
        return Translation(
            source=self.text, text="", source_tokens=(), tokens=(), token_scores=(), layers=None
        )


def load(path: str | PathLike[str], *more: str | PathLike[str], device: str = "auto") -> Translator:
    """Load a model file, or several that vote; loading runs no code from them."""
    members = [load_model(Path(one)) for one in (path, *more)]
    for member in members:
        member.model.to(chosen_device(device))
    return Translator(*members)


def chosen_device(name: str) -> torch.device:
    """Return a device by its name; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    there = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    try:
        device = torch.device(name)
        # of a device that is not here this is the first to fail; on `meta` nothing can be computed
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        problem = f"device = {name}, but it must be one that is here; {' or '.join(there)} would do"
        raise ConfigError("settings", [problem]) from error
    return device


@torch.inference_mode()
def _forced(
    models: Sequence[Seq2Seq], source: Sequence[int], words: Sequence[int]
) -> tuple[tuple[float, ...], Float[np.ndarray, "T L H S"] | None]:
    """Return the score of each given word and of EOS, and the first model's weights.

    In the geometry of the search, where float32 rounds alike.
    """
    device = models[0].target_embedding.weight.device
    fed = torch.tensor([[BOS, *words]] * ROWS, device=device)
    limits = [m.max_target_length for m in models if m.max_target_length is not None]
    if limits and fed.shape[1] > min(limits):
        raise InputError(
            f"a target has {len(words):,} symbols, but the model has places for "
            f"{min(limits) - 1:,}; a shorter one would do"
        )
    begun = [Tiles.start(model, [source]) for model in models]
    found = [one.model.unroll(one.states[0], fed, one.memories[0])[1] for one in begun]
    each = torch.stack([scored.logits[0].float().log_softmax(dim=-1) for scored in found])
    # the mean of probabilities, as in the search
    log_probs = each.logsumexp(dim=0) - math.log(len(models))
    target = torch.tensor([*words, EOS], device=device)
    scores = log_probs.gather(1, target[:, None])[:, 0].tolist()
    weights = found[0].weights
    shown = None if weights is None else weights[0, ..., : len(source)].float().cpu().numpy()
    return tuple(scores), shown
