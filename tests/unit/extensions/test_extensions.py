"""What is registered has a name in settings; a file holds no more of it than that name."""

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest
import torch

from regard import extensions
from regard.config.model import AttentionConfig, ModelConfig
from regard.config.names import CustomDecoderConfig
from regard.config.requirements import missing_extension, requirements
from regard.config.settings import SearchConfig, Settings, TextConfig
from regard.config.toml import settings_from, to_toml, to_tree
from regard.errors import ConfigError, ModelFileError
from regard.models import build, preset
from regard.nn.scores import ScoreFunction
from regard.saved_model import load_model, save_model
from regard.text.tokenizers import Tokenizer, tokenizer_from_json
from registry import restored
from small_models import SIZES, saved

PARTS = '''
from dataclasses import dataclass
import torch
from regard.config.names import CustomDecoderConfig
from regard.decoders.base import Decoder, DecoderStep, zero_position
from regard.decoders.plain import FixedContext
from regard.decoders.recurrent import RecurrentState
from regard.extensions import (
    register_constraint, register_decoder, register_score, register_tokenizer,
)
from regard.nn.scores import ScoreFunction
from regard.search import NEG_INF, Constraint
from regard.text.tokenizers import Tokenizer


@register_score("cosine")
class CosineScore(ScoreFunction):
    def __init__(self, query_size, key_size, align_size):
        super().__init__()
        self.W = torch.nn.Linear(query_size, key_size, bias=False)

    def prepare(self, keys):
        return torch.nn.functional.normalize(keys, dim=-1)

    def forward(self, query, keys):
        return torch.nn.functional.normalize(self.W(query), dim=-1) @ keys.mT


@register_tokenizer("letter_pairs")
class LetterPairs(Tokenizer):
    def tokenize(self, line):
        return [line[i : i + 2] for i in range(0, len(line), 2)]

    def detokenize(self, tokens):
        return "".join(tokens)


@register_constraint("no_repeats")
class NoRepeats(Constraint):
    def restrict(self, log_probs, requests, position, generated):
        for line, hypotheses in zip(log_probs, generated):
            for scores, tokens in zip(line, hypotheses):
                scores[tokens.tolist()] = NEG_INF


@dataclass(frozen=True, kw_only=True)
class LastDecoderConfig(CustomDecoderConfig):
    """A GRU that begins with the end of the source."""

    width: int = 8
    """Width of the state."""


@register_decoder("last", config=LastDecoderConfig)
class LastDecoder(Decoder):
    attention_shape = None

    @classmethod
    def from_config(cls, config, embedding_size, encoder, summary_size):
        decoder = cls()
        decoder.state_size, decoder.context_size = config.width, encoder.key_size
        decoder.cell = torch.nn.GRUCell(embedding_size + encoder.key_size, config.width)
        return decoder

    def start(self, encoded):
        h = encoded.last.new_zeros(len(encoded.last), self.state_size)
        return FixedContext(encoded.last), RecurrentState(zero_position(encoded), (), h)

    def step(self, state, previous, memory, *, forced_weights=None, need_weights=True):
        h = self.cell(torch.cat([previous, memory.context], dim=-1), state.output)
        step = DecoderStep(state.output, h, memory.context, None)
        return RecurrentState(state.position + 1, (), h), step
'''

SHARED = """
import json, sys
import regard
from regard.cli import main
from regard.errors import RegardError

LINES = ["abab", "ba", "abba"]

def outputs():
    files = [regard.load(name) for name in ("score.regard", "decoder.regard")]
    return [[x.text, x.token_scores] for one in files for x in one.translate(LINES)]
"""

TRAIN = """
import my_parts
pairs = [("abab", "ABBA"), ("baab", "BA"), ("abba", "AAB"), ("ba", "B")] * 10
tiny = {"max_steps": 3, "quiet": True, "dev_fraction": 0.3}
sizes = {"hidden_size": 8, "embedding_size": 5, "readout_size": 6}
search = {"constraint": "no_repeats", "max_length": 4}
text = {"source": "letter_pairs"}
one = regard.train(pairs, score="cosine", text=text, search=search, **sizes, **tiny)
one.save("score.regard")
model = {"decoder": {"kind": "last", "width": 7}, "summary": "none"}
regard.train(pairs, model=model, **sizes, **tiny).save("decoder.regard")
assert all(len(set(x.tokens)) == len(x.tokens) for x in one.translate(LINES))
print(json.dumps(outputs()))
"""

WITHOUT = """
for name in ("score.regard", "decoder.regard"):
    try:
        regard.load(name)
    except RegardError as error:
        print(error)
print(main(["info", "score.regard"]), "my_parts" in sys.modules)
"""

WITH = """
assert main(["info", "decoder.regard", "--settings", "--import", "my_parts"]) == 0
sys.stdout.flush()
assert main(["translate", "score.regard", "--import", "my_parts", "--text", "abab"]) == 0
print(json.dumps(outputs()))
"""


def test_a_registered_extension_is_trained_saved_and_loaded_by_its_module(tmp_path):
    (tmp_path / "my_parts.py").write_text(PARTS)

    def ran(script):
        command = [sys.executable, "-c", SHARED + script]
        run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout.splitlines(), run.stderr

    trained = json.loads(ran(TRAIN)[0][-1])
    lines, told = ran(WITHOUT)
    would = "from the module my_parts. Import that module first."
    assert lines[:2] == [
        f'score.regard: it needs the tokenizer "letter_pairs" {would}',
        f'decoder.regard: it needs the decoder "last" {would}',
    ]
    assert lines[2] == "2 False"
    assert told == f"regard: {lines[0]}\n"
    lines, _ = ran(WITH)
    assert json.loads(lines[-1]) == trained
    text = trained[0][0]
    assert lines[-2] == text
    assert 'kind = "last"' in lines
    assert lines[lines.index("# Width of the state.") + 1] == "width = 7"


@pytest.fixture(autouse=True)
def _restored():
    with restored():
        yield


@pytest.mark.parametrize("kind", ["score", "tokenizer", "constraint"])
def test_a_name_that_is_in_use_is_refused(kind):
    register = getattr(extensions, f"register_{kind}")
    one, other = (type(name, (), {"__module__": "my_parts"}) for name in ("One", "Other"))
    assert register("mine")(one) is one
    assert extensions.find(kind, "mine") == (kind, "mine", one)
    # a module that is reloaded
    assert register("mine")(type("One", (), {"__module__": "my_parts"})) is not one
    with pytest.raises(ConfigError) as refusal:
        register("mine")(other)
    assert str(refusal.value) == (
        f"extensions: my_parts has a {kind} of the name mine already; choose another name"
    )
    builtin = {"score": "dot", "tokenizer": "words", "constraint": "none"}[kind]
    with pytest.raises(ConfigError, match=f"regard has a {kind} of the name {builtin} already"):
        register(builtin)(one)
    for wrong in ("", "Mine", "a b", "2", "a:b", "a" * 65):
        with pytest.raises(ConfigError, match="lower-case letters, digits and underscores"):
            register(wrong)(one)


def test_settings_take_registered_names_and_refuse_others():
    with pytest.raises(ConfigError, match=r"score is mine; it must be additive, .* or location"):
        AttentionConfig(score="mine")
    extensions.register_score("mine")(type("Mine", (), {}))
    extensions.register_tokenizer("mine")(type("Mine", (), {}))
    extensions.register_constraint("mine")(type("Mine", (), {}))
    assert AttentionConfig(score="mine").score == "mine"
    assert TextConfig(source="mine").source == "mine"
    assert SearchConfig(constraint="mine").constraint == "mine"
    with pytest.raises(
        ConfigError, match=r"score is min; .*, location or mine\. Did you mean mine\?"
    ):
        AttentionConfig(score="min")


def test_only_a_constraint_may_be_a_class_of_a_module():
    assert SearchConfig(constraint=f"{__name__}:Settings")
    for make in (TextConfig, AttentionConfig):
        name = "source" if make is TextConfig else "score"
        with pytest.raises(ConfigError, match=f"{name} is json:JSONDecoder; it must be"):
            make(**{name: "json:JSONDecoder"})


def test_a_decoder_has_settings_of_its_own_in_a_tree_and_back():
    @dataclass(frozen=True, kw_only=True)
    class MineConfig(CustomDecoderConfig):
        """Mine."""

        width: int = 3

    extensions.register_decoder("mine", config=MineConfig)(type("Mine", (), {}))
    model = preset("bahdanau2015")(**SIZES["bahdanau2015"])
    tree = to_tree(Settings(model=model))
    tree["model"]["decoder"] = {"kind": "mine", "width": 5}
    settings = settings_from(tree)
    assert settings.model.decoder == MineConfig(width=5)
    assert to_tree(settings)["model"]["decoder"] == {"kind": "mine", "width": 5}
    assert 'kind = "mine"\nwidth = 5' in to_toml(settings, comments=False)
    tree["model"]["decoder"]["width"] = 0
    with pytest.raises(ConfigError, match="width is 0; it must be a whole number, at least 1"):
        settings_from(tree)
    (needed,) = requirements(settings)
    assert (needed["kind"], needed["name"]) == ("decoder", "mine")


def test_a_model_file_names_third_party_extensions_only(tmp_path):
    own_parts = saved(constraint="repetition_pattern")
    assert requirements(own_parts.settings) == []
    save_model(tmp_path / "a.regard", own_parts)
    assert load_model(tmp_path / "a.regard").settings == own_parts.settings
    assert b"requires" not in (tmp_path / "a.regard").read_bytes()
    needed = [{"kind": "score", "name": "x", "module": "my.scores"}]
    assert missing_extension(needed) == (
        'it needs the score "x" from the module my.scores. Import that module first.'
    )
    assert missing_extension([]) is None


@pytest.mark.parametrize("requires", [3, [3], [{}], {"a": 1}, [{"kind": "score"}]])
def test_a_model_file_with_an_invalid_extension_is_refused(tmp_path, requires, monkeypatch):
    monkeypatch.setattr("regard.model_file.requirements", lambda settings: requires)
    save_model(tmp_path / "a.regard", saved())
    with pytest.raises(ModelFileError, match="Its settings cannot be used"):
        load_model(tmp_path / "a.regard")


def test_a_registered_tokenizer_loads_by_name_and_equals_its_kind():
    @extensions.register_tokenizer("mine")
    class Mine(Tokenizer):
        def tokenize(self, line):
            return line.split("-")

        def detokenize(self, tokens):
            return "-".join(tokens)

    assert Mine().to_json() == {"kind": "mine"}
    again = tokenizer_from_json({"kind": "mine"})
    assert again == Mine()
    assert hash(again) == hash(Mine())
    assert again.tokenize("a-b") == ["a", "b"]
    with pytest.raises(ValueError, match="tokenizer mine has"):
        tokenizer_from_json({"kind": "mine", "model": ""})


def test_a_registered_score_is_built_with_its_widths():
    @extensions.register_score("mine")
    class Mine(ScoreFunction):
        def __init__(self, query_size, key_size, align_size):
            super().__init__()
            self.sizes = query_size, key_size, align_size
            self.W = torch.nn.Linear(query_size, key_size)

        def prepare(self, keys):
            return keys

        def forward(self, query, keys):
            return self.W(query) @ keys.mT

    config: ModelConfig = preset("bahdanau2015")(**SIZES["bahdanau2015"], score="mine")
    decoder = build(config, 9, 9).decoder
    assert decoder.attention.score.sizes == (7, 14, 11)
    assert decoder.why_stepwise == "its score is Mine"
