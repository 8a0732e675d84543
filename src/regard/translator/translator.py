"""Lines to translations, by one model or by several that vote.

Whatever is given back can be traced: tokens, the score of each, and the attention that was used.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, final, overload

import numpy as np
from jaxtyping import Float

from regard import extensions
from regard.choices import UnknownMode
from regard.config.renamed_settings import with_new_names
from regard.config.settings import SearchConfig, Settings
from regard.errors import ConfigError, InputError
from regard.models.seq2seq import Seq2Seq
from regard.saved_model import SavedModel, save_model
from regard.search import Constraint, Hypothesis, SearchOptions, SearchRequest, TreeNode, search
from regard.special_tokens import UNKNOWN
from regard.text.text_processor import TextProcessor
from regard.text.unknown_replacement import MARK, replace_unknown
from regard.translator.forced import forced, influence
from regard.translator.prepared import PreparedLine, TokenizedLine, each_of, pair_of
from regard.translator.translation import Branch, Translation


@final
class Translator:
    """One model, or several that vote: their probabilities are averaged, word by word."""

    def __init__(self, *members: SavedModel) -> None:
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
        self.source: TextProcessor = first.source
        self.target: TextProcessor = first.target
        self._constraints: dict[str, Constraint] = {}

    @property
    def models(self) -> list[Seq2Seq]:
        """What computes."""
        return [member.model for member in self.members]

    @property
    def max_source_length(self) -> int:
        """The most symbols of a source that are read."""
        limits = [self.settings.data.max_source_length]
        limits += [m.max_source_length for m in self.models if m.max_source_length is not None]
        return min(limits)

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
        prefix: str | Sequence[str | None] = (),
        pin: Mapping[int, int] | None = None,
        banned: Iterable[str] = (),
        candidates: int = 0,
        tree: bool = False,
        unknown: UnknownMode = "copy",
        progress: Callable[[int], None] | None = None,
        **settings: Any,
    ) -> Translation | list[Translation]:
        """Translate a line, or many; `settings` are those of [search], as beam_size = 5.

        A prefix is what every target begins with, as text or as tokens, None being an unknown one;
        `pin` maps a step, from 0, to the source token it has to look at; banned symbols are neither
        written nor copied for an unknown one. `candidates` is how many of the best tokens to report
        at each position, `tree` asks for all that the search ever kept, and `progress` is told of
        each few lines that are done. Where no beam_size is given, it is the model's own, or nbest
        where nbest is larger or targets are drawn (temperature > 0): each sample is then given
        back, not the best of some.
        """
        parts = {"candidates": candidates, "tree": tree, "unknown": unknown, **settings}
        texts = [lines] if isinstance(lines, str) else lines
        prepared = self.prepare(texts, prefix=prefix, pin=pin, banned=banned, **parts)
        answers = self.translate_prepared(prepared, progress)
        return answers[0] if isinstance(lines, str) else answers

    def search_options(
        self,
        *,
        prefix: str | Sequence[str | None] = (),
        banned: Iterable[str] = (),
        candidates: int = 0,
        tree: bool = False,
        **settings: Any,
    ) -> SearchOptions:
        """Check the options of `translate`, and return how a search with them goes.

        A setting that is not given, or None, is the model's own. `config` of what is returned holds
        them all; the prefix is checked alone, since each line carries its own.
        """
        config = self._config(settings)
        if not isinstance(candidates, Integral) or candidates < 0:
            raise InputError(
                f"candidates = {candidates!r}, but it must be a whole number, at least 0"
            )
        options = SearchOptions(
            config=config,
            banned=frozenset(self._known(token, "banned") for token in banned),
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
        start = self._prefix_ids(prefix)
        each = enumerate(each_of(lines, "lines"), start=1)
        tokenized = [self._tokenized(text, f"line {n}") for n, text in each]
        return [
            PreparedLine(
                line,
                self._request(line, start, pin or {}, options) if line.ids else None,
                options,
                unknown,
            )
            for line in tokenized
        ]

    def translate_prepared(
        self, prepared: Sequence[PreparedLine], progress: Callable[[int], None] | None = None
    ) -> list[Translation]:
        """Translate prepared lines; those with equal options are searched together.

        What comes of a line does not depend on its company.
        """
        translations = [one.line.nothing(several=one.options.config.nbest > 1) for one in prepared]
        groups: dict[SearchOptions, list[int]] = defaultdict(list)
        for at, one in enumerate(prepared):
            if one.request is not None:
                groups[one.options].append(at)
        for options, places in groups.items():
            requests = [request for at in places if (request := prepared[at].request)]
            outputs = search(self.models, requests, options, progress=progress)
            for at, hypotheses in zip(places, outputs, strict=True):
                translations[at] = self._best(prepared[at], hypotheses)
        blank = sum(one.request is None for one in prepared)
        if progress is not None and blank:
            progress(blank)
        return translations

    def rescore(
        self, pairs: Iterable[Translation | tuple[str, str | Sequence[str | None]]]
    ) -> list[Translation]:
        """Force given targets through the decoder: what would it have said of each word?

        A target is text or, where several rows of tokens make the same text, its tokens, None being
        an unknown one. A translation stands for its source and its own symbols.
        """
        answers = []
        for number, pair in enumerate(each_of(pairs, "pairs"), start=1):
            again = isinstance(pair, Translation)
            source_and_target = (pair.source, pair.symbols) if again else pair
            source, target = pair_of(source_and_target, f"pair {number}")
            line = self._tokenized(source, f"source {number}")
            symbols = self.target.tokenize(target) if isinstance(target, str) else target
            if not line.ids:
                raise InputError(
                    f"source {number} is blank, but it must hold text; leaving it out would do"
                )
            words = self._ids(symbols)
            forced_target = Hypothesis(
                tuple(words), *forced(self.models, line.ids, words), truncated=False
            )
            tokens = [MARK if symbol is None else symbol for symbol in symbols]
            tokens = list(pair.tokens) if again else tokens
            answers.append(
                Translation(
                    source=source,
                    text=target if isinstance(target, str) else self.target.detokenize(tokens),
                    source_tokens=line.tokens,
                    tokens=tuple(tokens),
                    unknown=tuple(word == UNKNOWN for word in words),
                    token_scores=forced_target.scores,
                    rank_score=forced_target.normalized_score(self.settings.search.length_penalty),
                    layers=forced_target.weights,
                    notes=line.notes,
                )
            )
        return answers

    def influence(self, translation: Translation) -> Float[np.ndarray, "T S"]:
        """Return what moved each token: ‖∂ log p(y_t) / ∂ e(x_s)‖ by gradient, a row's sum being 1.

        It is no attention: it tells how much each source symbol mattered, also in a model that
        looks nowhere. The last row is EOS's; of models that vote, it is the first one's. What was
        copied for an unknown symbol is told what moved the unknown one.
        """
        line = self._tokenized(translation.source, "source")
        if not line.ids:
            raise InputError("source is blank, so that nothing moved its target; text would do")
        return influence(self.models[0], line.ids, self._ids(translation.symbols))

    def _ids(self, symbols: Sequence[str | None]) -> list[int]:
        """Look up symbols of a target; None is the unknown one, whatever is printed there."""
        ids = self.target.vocabulary.encode
        return [UNKNOWN if symbol is None else ids([symbol])[0] for symbol in symbols]

    def _config(self, settings: Mapping[str, Any]) -> SearchConfig:
        settings = with_new_names({"search": dict(settings)})["search"]
        known = [f.name for f in fields(SearchConfig)]
        if strangers := [name for name in settings if name not in known]:
            raise ConfigError(
                "search",
                [f"{name} is no setting; one of {', '.join(known)} would do" for name in strangers],
            )
        given_settings = {name: value for name, value in settings.items() if value is not None}
        own = self.settings.search
        nbest = given_settings.get("nbest", own.nbest)
        if type(nbest) is int and "beam_size" not in given_settings:
            temperature = given_settings.get("temperature", own.temperature)
            sampling = isinstance(temperature, int | float) and temperature > 0
            # as many as are asked for must be kept; of more samples the best would be no sample
            given_settings["beam_size"] = max(1, nbest) if sampling else max(nbest, own.beam_size)
        config = replace(own, **given_settings)
        neutral = {"top_k": 0, "top_p": 1}
        idle = [name for name, off in neutral.items() if given_settings.get(name, off) != off]
        if idle and config.temperature == 0:
            would = "but temperature = 0 takes the best word; temperature = 1 would do"
            raise ConfigError(
                "search", [f"{name} = {given_settings[name]}, {would}" for name in idle]
            )
        return config

    def _constraint(self, name: str) -> Constraint | None:
        """Return the constraint of a name: one for all lines, which are then searched together."""
        if name == "none":
            return None
        if name not in self._constraints:
            extension = extensions.find("constraint", name)
            if extension is None or not issubclass(extension.cls, Constraint):
                must = "it must be a class that extends regard.search.Constraint"
                raise ConfigError("search", [f"constraint = {name}, but {must}"])
            self._constraints[name] = extension.cls(self.target.vocabulary)
        return self._constraints[name]

    def _prefix_ids(self, prefix: str | Sequence[str | None]) -> tuple[int, ...]:
        """Look up a prefix, given as text or as tokens; None is the unknown one."""
        tokens = self.target.tokenize(prefix) if isinstance(prefix, str) else prefix
        return tuple(UNKNOWN if token is None else self._known(token, "prefix") for token in tokens)

    def _known(self, token: str, what: str) -> int:
        word = self.target.vocabulary.encode([token])[0]
        if word == UNKNOWN:
            raise InputError(
                f"{what} = {token!r}, but the model never writes it; a symbol of its targets "
                "would do"
            )
        return word

    def _tokenized(self, text: str, name: str) -> TokenizedLine:
        """Cut a line into what the model reads; a blank one has nothing to read."""
        if not isinstance(text, str):
            raise InputError(f"{name} is of type {type(text).__name__}, but it must be text")
        tokens = self.source.tokenize(text) if text.strip() else []
        most = self.max_source_length
        notes = []
        if len(tokens) > most:
            notes.append(
                f"the source has {len(tokens):,} symbols, but the model reads {most:,}; "
                f"what follows the first {most:,} was cut off"
            )
            tokens = tokens[:most]
        ids = tuple(self.source.vocabulary.encode(tokens))
        if ids and set(ids) == {UNKNOWN}:
            notes.append("the model knows no symbol of the source, so that its output is a guess")
        return TokenizedLine(text, tuple(tokens), ids, tuple(notes))

    def _request(
        self,
        line: TokenizedLine,
        prefix: tuple[int, ...],
        pins: Mapping[int, int],
        options: SearchOptions,
    ) -> SearchRequest:
        if not isinstance(pins, Mapping):
            raise InputError(
                f"pin is of type {type(pins).__name__}, but it must map steps to source tokens; "
                "{0: 2} would do"
            )
        for step, position in pins.items():
            numbers = isinstance(step, Integral) and isinstance(position, Integral)
            if not numbers or step < 0 or not 0 <= position < len(line.ids):
                raise InputError(
                    f"pin = {{{step!r}: {position!r}}}, but it must be a step from 0 and a source "
                    f"token from 0 to {len(line.ids) - 1}"
                )
        if pins and self.models[0].decoder.attention_shape is None:
            raise InputError("pin was given, but the model has no attention; bahdanau2015 would do")
        return SearchRequest(line.ids, prefix, dict(pins), line.tokens)

    def _best(self, prepared: PreparedLine, hypotheses: Sequence[Hypothesis]) -> Translation:
        by_text: dict[str, Translation] = {}
        for one in (self._translation(prepared, hypothesis) for hypothesis in hypotheses):
            # several rows of subwords make the same text: the first is the best
            by_text.setdefault(one.text, one)
        several = tuple(by_text.values())
        return replace(
            several[0],
            alternatives=several if prepared.options.config.nbest > 1 else (),
            tree=tuple(self._branch(node) for node in hypotheses[0].tree),
        )

    def _branch(self, node: TreeNode) -> Branch:
        token = self.target.vocabulary.decode([node.token_id])[0]
        return Branch(node.parent, token, node.score, node.total, node.in_nbest)

    def _translation(self, prepared: PreparedLine, hypothesis: Hypothesis) -> Translation:
        vocabulary, line, options = self.target.vocabulary, prepared.line, prepared.options
        weights = hypothesis.weights
        mean = None if weights is None else weights.mean(axis=(1, 2))
        unknown = tuple(word == UNKNOWN for word in hypothesis.token_ids)
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
            notes += (f"the output was stopped at {len(tokens):,} symbols, its greatest length",)
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
                tuple((vocabulary.decode([word])[0], score) for word, score in place)
                for place in hypothesis.candidates
            ),
            notes=notes,
        )
