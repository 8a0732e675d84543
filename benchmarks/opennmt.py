"""OpenNMT-py and its successor eole: settings, commands, and how to read their output.

Models: a bidirectional GRU of 256 units each way and a GRU of 512 with input feeding whose new
state attends; or a Transformer of 3 + 3 layers, width 256. Both sort lines by length into batches
of 64.
"""

import re
from pathlib import Path

from benchmarks.competitors import EOLE, OPENNMT, Competitor, CompetitorSetup
from benchmarks.datasets import BenchmarkDataset
from benchmarks.programs import CompletedProgram, follow
from benchmarks.throughput import ProgressMark, search_name, sort_marks

STEP = re.compile(r"Step +(\d+)/.*?bsz: +\d+/ *(\d+)/")
REPORT_EVERY = 10
ATTENTION = {"additive": "mlp", "bilinear": "general"}
# their checkpoints hold more than tensors
VARIABLES = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}


def read_marks(program: CompletedProgram) -> list[ProgressMark]:
    """Read a mark for every tenth update; a line holds the mean tokens of the last ten."""
    matches = [(when, STEP.search(line)) for when, line in program.lines]
    progress_lines = [
        (when, int(match[1]), int(match[2])) for when, match in matches if match is not None
    ]
    tokens = 0
    marks = []
    for when, step, mean in progress_lines:
        tokens += REPORT_EVERY * mean
        marks.append((step, when, tokens))
    return sort_marks(marks)


def write_vocabularies(dataset: BenchmarkDataset, folder: Path) -> None:
    """Write the vocabularies as both read them: with counts, the most frequent token first."""
    for side in ("source", "target"):
        tokens = dataset.vocabulary(side)
        lines = (f"{token}\t{len(tokens) - n}\n" for n, token in enumerate(tokens))
        (folder / f"{side}.vocabulary").write_text("".join(lines), encoding="utf-8")


def _corpora(dataset: BenchmarkDataset) -> str:
    splits = (("corpus_1", "train"), ("valid", "dev"))
    files = (
        f"  {title}:\n    path_src: {dataset.file(split, 'source')}\n"
        f"    path_tgt: {dataset.file(split, 'target')}\n"
        for title, split in splits
    )
    return "data:\n" + "".join(files)


def _yaml(indent: int, **settings: object) -> str:
    lines = (f"{' ' * indent}{key}: {setting}\n" for key, setting in settings.items())
    return "".join(lines)


def _training_settings(kind: str, updates: int) -> dict[str, object]:
    return {
        "num_workers": 0,
        "bucket_size": 20000,
        "batch_type": "sents",
        "batch_size": 64,
        "train_steps": updates,
        "valid_steps": 10**6,
        "save_checkpoint_steps": updates,
        "optim": "adam",
        "learning_rate": 0.0005 if kind == "transformer" else 0.001,
        "learning_rate_decay": 1.0,
        "max_grad_norm": 1.0,
        "normalization": "tokens",
        "dropout": "[0.1]",
        "attention_dropout": "[0.1]",
    }


def _opennmt(kind: str, dataset: BenchmarkDataset, folder: Path, updates: int) -> str:
    model: dict[str, object] = {
        "enc_layers": 1,
        "dec_layers": 1,
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": "GRU",
        "src_word_vec_size": 256,
        "tgt_word_vec_size": 256,
        "hidden_size": 512,
        "bridge": "true",
        "global_attention": ATTENTION.get(kind),
        "input_feed": 1,
    }
    if kind == "transformer":
        model = {
            "enc_layers": 3,
            "dec_layers": 3,
            "encoder_type": "transformer",
            "decoder_type": "transformer",
            "word_vec_size": 256,
            "hidden_size": 256,
            "heads": 4,
            "transformer_ff": 1024,
            "position_encoding": "true",
        }
    files = {
        "save_data": folder,
        "src_vocab": folder / "source.vocabulary",
        "tgt_vocab": folder / "target.vocabulary",
        "save_model": folder / "model",
        "overwrite": "true",
        "report_every": REPORT_EVERY,
        "seed": 1,
        "param_init": 0.0,
        "param_init_glorot": "true",
    }
    return _corpora(dataset) + _yaml(0, **files, **_training_settings(kind, updates), **model)


def _eole(kind: str, dataset: BenchmarkDataset, folder: Path, updates: int) -> str:
    rnn = {"rnn_type": "GRU", "layers": 1, "hidden_size": 512}
    embeddings = {"src_word_vec_size": 256, "tgt_word_vec_size": 256}
    attention = {"global_attention": ATTENTION.get(kind), "with_cross_attn": "true"}
    decoder = {"bidirectional_encoder": "true", "tgt_word_vec_size": 256}
    model = (
        _yaml(2, architecture="custom", hidden_size=512)
        + "  embeddings:\n"
        + _yaml(4, **embeddings)
        + "  encoder:\n"
        + _yaml(4, encoder_type="brnn", **rnn, src_word_vec_size=256, bridge="false")
        + "  decoder:\n"
        + _yaml(4, decoder_type="rnn", **rnn, **decoder, **attention)
    )
    if kind == "transformer":
        sizes = {"hidden_size": 256, "layers": 3, "heads": 4, "transformer_ff": 1024}
        positions = {"position_encoding": "true", "position_encoding_type": "SinusoidalInterleaved"}
        model = (
            _yaml(2, architecture="transformer", **sizes)
            + "  embeddings:\n"
            + _yaml(4, word_vec_size=256, **positions)
        )
    files = {
        "seed": 1,
        "save_data": folder / "data",
        "overwrite": "true",
        "report_every": REPORT_EVERY,
        "src_vocab": folder / "source.vocabulary",
        "tgt_vocab": folder / "target.vocabulary",
    }
    training = _training_settings(kind, updates)
    training |= {"model_path": folder / "model", "compute_dtype": "fp32"}
    training["param_init_method"] = "xavier_uniform"
    return (
        _corpora(dataset)
        + _yaml(0, **files)
        + "training:\n"
        + _yaml(2, **training)
        + f"model:\n{model}"
    )


def train(
    competitor: Competitor, setup: CompetitorSetup, kind: str, updates: int
) -> CompletedProgram:
    """Train for some updates and save the model."""
    folder = setup.folder
    folder.mkdir(parents=True, exist_ok=True)
    write_vocabularies(setup.dataset, folder)
    settings = folder / "settings.yaml"
    settings.write_text(
        (_eole if competitor is EOLE else _opennmt)(kind, setup.dataset, folder, updates)
    )
    command: list[object] = [competitor.program(setup.competitors, "onmt_train")]
    if competitor is EOLE:
        command = [competitor.program(setup.competitors, "eole"), "train"]
    program = follow([*command, "-config", settings], threads=setup.threads, variables=VARIABLES)
    return program.check(competitor.name)


def saved_model(competitor: Competitor, folder: Path) -> Path:
    """Return the last checkpoint."""
    if competitor is EOLE:
        return folder / "model"
    return max(folder.glob("model_step_*.pt"), key=lambda path: path.stat().st_mtime)


def translate(
    competitor: Competitor, setup: CompetitorSetup, split: str, beam: int
) -> CompletedProgram:
    """Translate a file, 32 lines at a time."""
    dataset, checkpoint = setup.dataset, saved_model(competitor, setup.folder)
    command = [competitor.program(setup.competitors, "eole"), "predict", "-model_path", checkpoint]
    if competitor is OPENNMT:
        command = [competitor.program(setup.competitors, "onmt_translate"), "-model", checkpoint]
    options = ["-beam_size", str(beam), "-batch_size", "32", "-batch_type", "sents"]
    files = ["-src", dataset.file(split, "source"), "-output", setup.folder / f"{split}.{beam}"]
    options += ["-max_length", str(dataset.max_length)]
    command += [*files, *options]
    return follow(command, threads=setup.threads, variables=VARIABLES).check(competitor.name)


def decode(competitor: Competitor, setup: CompetitorSetup) -> dict[str, float]:
    """Return words per second: a long file minus a short one, to exclude the start of a program."""
    figures = {}
    short, long = (len(setup.dataset.lines(split, "source")) for split in ("dev", "long"))
    for beam in (1, 5):
        seconds = [translate(competitor, setup, split, beam).seconds for split in ("dev", "long")]
        if seconds[1] <= seconds[0]:
            raise SystemExit(
                f"{competitor.name} took {seconds[0]:.1f} s for {short:,} words and "
                f"{seconds[1]:.1f} s for {long:,}; use a machine with less other load"
            )
        figures[search_name(beam)] = (long - short) / (seconds[1] - seconds[0])
        tokens = (setup.folder / f"dev.{beam}").read_text(encoding="utf-8").split()
        figures[f"tokens, {search_name(beam)}"] = len(tokens) / short
    return figures
