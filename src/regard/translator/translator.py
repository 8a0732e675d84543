"""The translator: lines to translations, by one model or an ensemble."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, final, overload

import numpy as np
from jaxtyping import Float

from regard import extensions
from regard.choices import UnknownMode
from regard.config.settings import Settings
from regard.errors import ConfigError, InputError
from regard.inference.self_attention import (
    SelfAttentionShapes,
    SelfAttentionWeights,
    self_attention,
    self_attention_shapes,
)
from regard.models.seq2seq import Seq2Seq
from regard.saved_model import SavedModel, save_model
from regard.search import Constraint, Hypothesis, SearchOptions, SearchRequest, TreeNode, search
from regard.special_tokens import UNKNOWN
from regard.text.text_processor import TextProcessor
from regard.text.unknown_replacement import MARK, replace_unknown
from regard.text.unknown_tokens import unknown_tokens
from regard.translator import messages
from regard.translator.description import describe
from regard.translator.forced_decoding import score_target
from regard.translator.influence import influence
from regard.translator.prepared_line import (
    PreparedLine,
    TokenizedLine,
    check_iterable,
    split_pair,
)
from regard.translator.search_config import search_config
from regard.translator.source_cleaner import SourceCleaner
from regard.translator.translation import Branch, Translation
from regard.translator.translation_list import TranslationList


@final
class Translator:
    """One model, or an ensemble, which averages the probabilities of each token."""

    def __init__(self, *members: SavedModel) -> None:
        first = members[0]
        for number, member in enumerate(members, start=1):
            if (member.source, member.target) != (first.source, first.target):
                raise InputError(messages.different_vocabularies(number))
        self.members = members
        self.settings: Settings = first.settings
        self.summary: dict[str, Any] = first.summary
        self.source: TextProcessor = first.source
        self.target: TextProcessor = first.target
        self._constraints: dict[str, Constraint] = {}
        self._clean_source = SourceCleaner(self.settings.data, self.source.vocabulary)

    def __repr__(self) -> str:
        return f"Translator({', '.join(describe(self.members))})"

    @property
    def models(self) -> list[Seq2Seq]:
        """The models of the ensemble."""
        return [member.model for member in self.members]

    @property
    def max_source_length(self) -> int:
        """The maximum length of a source in tokens; the rest is truncated."""
        limits = [self.settings.data.max_source_length]
        limits += [m.max_source_length for m in self.models if m.max_source_length is not None]
        return min(limits)

    @property
    def self_attention_shapes(self) -> SelfAttentionShapes:
        """The layers and heads of the self-attention of encoder and decoder; None without it."""
        return self_attention_shapes(self.models[0])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file."""
        if len(self.members) > 1:
            raise InputError(messages.ensemble_not_saved())
        save_model(Path(path), self.members[0])

    @overload
    def translate(self, lines: str, **options: Any) -> Translation: ...

    @overload
    def translate(self, lines: Iterable[str], **options: Any) -> list[Translation]: ...

    def translate(  # noqa: PLR0913 (all but the lines by name)
        self,
        lines: str | Iterable[str],
        *,
        prefix: str | Sequence[str | None] = (),
        pin: Mapping[int, int] | None = None,
        banned: Iterable[str] = (),
        candidates: int = 0,
        tree: bool = False,
        unknown: UnknownMode = "copy",
        self_attention: bool = False,
        progress: Callable[[int], None] | None = None,
        **settings: Any,
    ) -> Translation | list[Translation]:
        """Translate a line, or many; `settings` are those of [search], as beam_size = 5.

        Every target begins with `prefix`, given as text or as tokens, None for an unknown one.
        `pin` maps a step, from 0, to the source token that has all attention. Banned tokens are
        neither generated nor copied. `candidates` is the number of best tokens to report at each
        position; `tree` returns all hypotheses that were in the beam; `self_attention` returns that
        of encoder and decoder, for every layer and head; `progress` is called with the number of
        lines that have just been translated.

        The default of beam_size is the model's setting, or nbest if that is larger. With sampling
        (temperature > 0) it is nbest: every sample is returned.
        """
        parts = {"candidates": candidates, "tree": tree, "unknown": unknown, **settings}
        texts = [lines] if isinstance(lines, str) else lines
        prepared = self.prepare(texts, prefix=prefix, pin=pin, banned=banned, **parts)
        translations = self.translate_prepared(prepared, progress)
        if self_attention:
            translations = [self._with_self_attention(one) for one in translations]
        return translations[0] if isinstance(lines, str) else TranslationList(translations)

    def search_options(
        self,
        *,
        prefix: str | Sequence[str | None] = (),
        banned: Iterable[str] = (),
        candidates: int = 0,
        tree: bool = False,
        **settings: Any,
    ) -> SearchOptions:
        """Check the options of `translate`, and return the options of the search.

        A setting that is missing or None is the model's own; `config` holds them all. The prefix
        is checked, but belongs to the request of each line.
        """
        config = search_config(self.settings.search, settings)
        if not isinstance(candidates, Integral) or candidates < 0:
            raise InputError(messages.wrong_candidates(candidates))
        options = SearchOptions(
            config=config,
            banned=frozenset(self._known_id(token, "banned") for token in banned),
            num_candidates=int(candidates),
            keep_tree=tree,
            constraint=self._constraint(config.constraint),
        )
        self._prefix_ids(prefix)
        return options

    def prepare(  # noqa: PLR0913 (all but the lines by name)
        self,
        lines: Iterable[str],
        *,
        prefix: str | Sequence[str | None] = (),
        pin: Mapping[int, int] | None = None,
        banned: Iterable[str] = (),
        candidates: int = 0,
        tree: bool = False,
        unknown: UnknownMode = "copy",
        **settings: Any,
    ) -> list[PreparedLine]:
        """Tokenize lines for `translate_prepared`; the arguments are those of `translate`."""
        options = self.search_options(
            prefix=prefix, banned=banned, candidates=candidates, tree=tree, **settings
        )
        prefix_ids = self._prefix_ids(prefix)
        numbered_lines = enumerate(check_iterable(lines, "lines"), start=1)
        tokenized_lines = [self._tokenize(text, f"line {n}") for n, text in numbered_lines]
        return [
            PreparedLine(
                line,
                self._request(line, prefix_ids, pin or {}) if line.ids else None,
                options,
                unknown,
            )
            for line in tokenized_lines
        ]

    def translate_prepared(
        self, prepared: Sequence[PreparedLine], progress: Callable[[int], None] | None = None
    ) -> list[Translation]:
        """Translate prepared lines; those with equal options are searched together.

        The translation of a line does not depend on its neighbours.
        """
        translations = [
            one.line.blank_translation(with_alternatives=one.options.config.nbest > 1)
            for one in prepared
        ]
        groups: dict[SearchOptions, list[int]] = defaultdict(list)
        for index, one in enumerate(prepared):
            if one.request is not None:
                groups[one.options].append(index)
        for options, indices in groups.items():
            requests = [request for i in indices if (request := prepared[i].request)]
            outputs = search(self.models, requests, options, progress=progress)
            for i, hypotheses in zip(indices, outputs, strict=True):
                translations[i] = self._best_translation(prepared[i], hypotheses)
        blank = sum(one.request is None for one in prepared)
        if progress is not None and blank:
            progress(blank)
        return translations

    def rescore(
        self,
        pairs: Iterable[Translation | tuple[str, str | Sequence[str | None]]],
        *,
        self_attention: bool = False,
    ) -> list[Translation]:
        """Score given targets by forced decoding.

        A target is text or a list of tokens, None for an unknown one; tokens are exact if a text
        has several tokenizations. A translation stands for its source and its tokens.
        `self_attention` is as in `translate`.
        """
        translations = []
        for number, pair in enumerate(check_iterable(pairs, "pairs"), start=1):
            is_translation = isinstance(pair, Translation)
            source_and_target = (pair.source, pair.known_tokens) if is_translation else pair
            source, target = split_pair(source_and_target, f"pair {number}")
            line = self._tokenize(source, f"source {number}")
            known_tokens = self.target.tokenize(target) if isinstance(target, str) else target
            if not line.ids:
                raise InputError(messages.blank_source(f"source {number}"))
            token_ids = self._target_ids(known_tokens)
            scores, weights = score_target(self.models, line.ids, token_ids)
            hypothesis = Hypothesis(tuple(token_ids), scores, weights, truncated=False)
            tokens = [MARK if token is None else token for token in known_tokens]
            tokens = list(pair.tokens) if is_translation else tokens
            translations.append(
                Translation(
                    source=source,
                    text=target if isinstance(target, str) else self.target.detokenize(tokens),
                    source_tokens=line.tokens,
                    tokens=tuple(tokens),
                    unknown=tuple(token_id == UNKNOWN for token_id in token_ids),
                    token_scores=hypothesis.scores,
                    rank_score=hypothesis.normalized_score(self.settings.search.length_penalty),
                    layers=hypothesis.weights,
                    notes=line.notes,
                    unknown_source=line.unknown,
                )
            )
        if self_attention:
            translations = [self._with_self_attention(one) for one in translations]
        return TranslationList(translations)

    def influence(self, translation: Translation) -> Float[np.ndarray, "T S"]:
        """Return the influence of each source token on each token: ‖∂ log p(y_t) / ∂ e(x_s)‖.

        Each row is divided by its sum; the last one is for EOS. Influence is not attention: models
        without attention have it too. Of an ensemble, it is that of the first model. A copied token
        has the influence of the unknown token that it replaces.
        """
        line = self._tokenize(translation.source, "source")
        if not line.ids:
            raise InputError(messages.blank_influence())
        return influence(self.models[0], line.ids, self._target_ids(translation.known_tokens))

    def self_attention(self, translation: Translation) -> SelfAttentionWeights:
        """Return the self-attention of encoder and decoder, for every layer and head.

        Each is laid out as query, layer, head, key, and is None if the model has none. The search
        does not keep these weights: they are computed again along the translation, with the
        attention that it was made with. Of an ensemble, they are those of the first model.
        """
        line = self._tokenize(translation.source, "source")
        if not line.ids:
            return SelfAttentionWeights(None, None)
        target = self._target_ids(translation.known_tokens)
        return self_attention(self.models[0], line.ids, target, translation.layers)

    def _with_self_attention(self, translation: Translation) -> Translation:
        encoder, decoder = self.self_attention(translation)
        return replace(translation, encoder_self_attention=encoder, decoder_self_attention=decoder)

    def _target_ids(self, known_tokens: Sequence[str | None]) -> list[int]:
        """Look up tokens of a target; None is the unknown token."""
        encode = self.target.vocabulary.encode
        return [UNKNOWN if token is None else encode([token])[0] for token in known_tokens]

    def _constraint(self, name: str) -> Constraint | None:
        """Return the constraint of a name: one instance for all lines, to search them together."""
        if name == "none":
            return None
        if name not in self._constraints:
            extension = extensions.find("constraint", name)
            if extension is None or not issubclass(extension.cls, Constraint):
                raise ConfigError("search", [messages.not_a_constraint(name)])
            self._constraints[name] = extension.cls(self.target.vocabulary)
        return self._constraints[name]

    def _prefix_ids(self, prefix: str | Sequence[str | None]) -> tuple[int, ...]:
        """Look up a prefix, given as text or as tokens; None is the unknown token."""
        tokens = self.target.tokenize(prefix) if isinstance(prefix, str) else prefix
        return tuple(
            UNKNOWN if token is None else self._known_id(token, "prefix") for token in tokens
        )

    def _known_id(self, token: str, name: str) -> int:
        token_id = self.target.vocabulary.encode([token])[0]
        if token_id == UNKNOWN:
            raise InputError(messages.unknown_token(name, token))
        return token_id

    def _tokenize(self, text: str, name: str) -> TokenizedLine:
        """Tokenize a line, truncated to the maximum length; a blank line has no tokens."""
        if not isinstance(text, str):
            raise InputError(messages.not_text(name, text))
        tokens = self.source.tokenize(self._clean_source(text)) if text.strip() else []
        limit = self.max_source_length
        notes = []
        if len(tokens) > limit:
            notes.append(messages.source_truncated(len(tokens), limit))
            tokens = tokens[:limit]
        ids = tuple(self.source.vocabulary.encode(tokens))
        if ids and set(ids) == {UNKNOWN}:
            notes.append(messages.all_tokens_unknown())
        spelled = self.source.original_case(tokens, text)
        unknown = unknown_tokens(tokens, ids, self.source, spelled)
        return TokenizedLine(text, tuple(spelled), tuple(tokens), ids, tuple(notes), unknown)

    def _request(
        self,
        line: TokenizedLine,
        prefix: tuple[int, ...],
        pins: Mapping[int, int],
    ) -> SearchRequest:
        if not isinstance(pins, Mapping):
            raise InputError(messages.pin_not_mapping(pins))
        for step, position in pins.items():
            are_integers = isinstance(step, Integral) and isinstance(position, Integral)
            if not are_integers or step < 0 or not 0 <= position < len(line.ids):
                raise InputError(messages.invalid_pin(step, position, len(line.ids)))
        if pins and self.models[0].decoder.attention_shape is None:
            raise InputError(messages.pin_without_attention())
        return SearchRequest(line.ids, prefix, dict(pins), line.model_tokens)

    def _best_translation(
        self, prepared: PreparedLine, hypotheses: Sequence[Hypothesis]
    ) -> Translation:
        translation_by_text: dict[str, Translation] = {}
        for one in (self._translation(prepared, hypothesis) for hypothesis in hypotheses):
            # several tokenizations have the same text: the first is the best
            translation_by_text.setdefault(one.text, one)
        alternatives = tuple(translation_by_text.values())
        return replace(
            alternatives[0],
            alternatives=alternatives if prepared.options.config.nbest > 1 else (),
            tree=tuple(self._branch(node) for node in hypotheses[0].tree),
        )

    def _branch(self, node: TreeNode) -> Branch:
        token = self.target.vocabulary.decode([node.token_id])[0]
        return Branch(node.parent, token, node.score, node.total, node.in_nbest)

    def _translation(self, prepared: PreparedLine, hypothesis: Hypothesis) -> Translation:
        vocabulary, line, options = self.target.vocabulary, prepared.line, prepared.options
        weights = hypothesis.weights
        mean = None if weights is None else weights.mean(axis=(1, 2))
        unknown = tuple(token_id == UNKNOWN for token_id in hypothesis.token_ids)
        tokens = replace_unknown(
            vocabulary.decode(hypothesis.token_ids),
            line.tokens,
            mean,
            prepared.unknown,
            unknown=unknown,
            banned=frozenset(vocabulary.decode(options.banned)),
        )
        notes = line.notes
        if hypothesis.truncated:
            notes += (messages.output_truncated(len(tokens)),)
        return Translation(
            source=line.text,
            text=self.target.detokenize(tokens),
            source_tokens=line.tokens,
            tokens=tuple(tokens),
            unknown=unknown,
            token_scores=hypothesis.scores,
            rank_score=hypothesis.normalized_score(options.config.length_penalty),
            layers=weights,
            candidates=tuple(
                tuple((vocabulary.decode([token_id])[0], score) for token_id, score in position)
                for position in hypothesis.candidates
            ),
            notes=notes,
            unknown_source=line.unknown,
        )
