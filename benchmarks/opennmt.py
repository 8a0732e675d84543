"""OpenNMT-py, and eole, which came from it: settings, commands, and what their lines say.

Models: a bidirectional GRU of 256 units each way, a GRU of 512 that looks back and is fed what it
found; or a Transformer of 3 + 3 layers, width 256. Both sort lines by length into batches of 64.
"""

import re
from pathlib import Path

from benchmarks.paces import Mark, every_mark, name
from benchmarks.peers import EOLE, OPENNMT, Peer, Setup
from benchmarks.programs import Ran, follow
from benchmarks.tasks import Task

STEP = re.compile(r"Step +(\d+)/.*?bsz: +\d+/ *(\d+)/")
EVERY = 10
ATTENTION = {"additive": "mlp", "bilinear": "general"}
# their own files hold more than tensors
VARIABLES = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}


def marks(ran: Ran) -> list[Mark]:
    """Read when each tenth update was done; a line tells the mean tokens of the last ten."""
    found = [(when, STEP.search(line)) for when, line in ran.lines]
    told = [(when, int(match[1]), int(match[2])) for when, match in found if match is not None]
    tokens = 0
    read = []
    for when, step, mean in told:
        tokens += EVERY * mean
        read.append((step, when, tokens))
    return every_mark(read)


def write_vocabularies(task: Task, folder: Path) -> None:
    """Write the symbols as both read them: with a count, the most frequent first."""
    for side in ("source", "target"):
        symbols = task.vocabulary(side)
        lines = (f"{symbol}\t{len(symbols) - n}\n" for n, symbol in enumerate(symbols))
        (folder / f"{side}.vocabulary").write_text("".join(lines), encoding="utf-8")


def _corpora(task: Task) -> str:
    parts = (("corpus_1", "train"), ("valid", "dev"))
    files = (
        f"  {title}:\n    path_src: {task.file(part, 'source')}\n"
        f"    path_tgt: {task.file(part, 'target')}\n"
        for title, part in parts
    )
    return "data:\n" + "".join(files)


def _yaml(indent: int, **values: object) -> str:
    return "".join(f"{' ' * indent}{key}: {value}\n" for key, value in values.items())


def _learning(kind: str, updates: int) -> dict[str, object]:
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


def _opennmt(kind: str, task: Task, folder: Path, updates: int) -> str:
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
        "report_every": EVERY,
        "seed": 1,
        "param_init": 0.0,
        "param_init_glorot": "true",
    }
    return _corpora(task) + _yaml(0, **files, **_learning(kind, updates), **model)


def _eole(kind: str, task: Task, folder: Path, updates: int) -> str:
    side = {"rnn_type": "GRU", "layers": 1, "hidden_size": 512}
    words = {"src_word_vec_size": 256, "tgt_word_vec_size": 256}
    looks = {"global_attention": ATTENTION.get(kind), "with_cross_attn": "true"}
    both = {"bidirectional_encoder": "true", "tgt_word_vec_size": 256}
    model = (
        _yaml(2, architecture="custom", hidden_size=512)
        + "  embeddings:\n"
        + _yaml(4, **words)
        + "  encoder:\n"
        + _yaml(4, encoder_type="brnn", **side, src_word_vec_size=256, bridge="false")
        + "  decoder:\n"
        + _yaml(4, decoder_type="rnn", **side, **both, **looks)
    )
    if kind == "transformer":
        sizes = {"hidden_size": 256, "layers": 3, "heads": 4, "transformer_ff": 1024}
        places = {"position_encoding": "true", "position_encoding_type": "SinusoidalInterleaved"}
        model = (
            _yaml(2, architecture="transformer", **sizes)
            + "  embeddings:\n"
            + _yaml(4, word_vec_size=256, **places)
        )
    files = {
        "seed": 1,
        "save_data": folder / "data",
        "overwrite": "true",
        "report_every": EVERY,
        "src_vocab": folder / "source.vocabulary",
        "tgt_vocab": folder / "target.vocabulary",
    }
    learning = _learning(kind, updates) | {"model_path": folder / "model", "compute_dtype": "fp32"}
    learning["param_init_method"] = "xavier_uniform"
    return (
        _corpora(task)
        + _yaml(0, **files)
        + "training:\n"
        + _yaml(2, **learning)
        + f"model:\n{model}"
    )


def train(peer: Peer, setup: Setup, kind: str, updates: int) -> Ran:
    """Train for some updates and save the model."""
    folder = setup.folder
    folder.mkdir(parents=True, exist_ok=True)
    write_vocabularies(setup.task, folder)
    settings = folder / "settings.yaml"
    settings.write_text((_eole if peer is EOLE else _opennmt)(kind, setup.task, folder, updates))
    words = [peer.program(setup.peers, "eole"), "train"]
    words = words if peer is EOLE else [peer.program(setup.peers, "onmt_train")]
    ran = follow([*words, "-config", settings], threads=setup.threads, variables=VARIABLES)
    return ran.expected(peer.name)


def model(peer: Peer, folder: Path) -> Path:
    """Return what was saved last."""
    if peer is EOLE:
        return folder / "model"
    return max(folder.glob("model_step_*.pt"), key=lambda path: path.stat().st_mtime)


def translate(peer: Peer, setup: Setup, part: str, beam: int) -> Ran:
    """Translate a file, 32 lines at a time."""
    task, saved = setup.task, model(peer, setup.folder)
    words = [peer.program(setup.peers, "eole"), "predict", "-model_path", saved]
    if peer is OPENNMT:
        words = [peer.program(setup.peers, "onmt_translate"), "-model", saved]
    options = ["-beam_size", str(beam), "-batch_size", "32", "-batch_type", "sents"]
    files = ["-src", task.file(part, "source"), "-output", setup.folder / f"{part}.{beam}"]
    longest = ["-max_length", str(task.max_length)]
    command = [*words, *files, *options, *longest]
    return follow(command, threads=setup.threads, variables=VARIABLES).expected(peer.name)


def decode(peer: Peer, setup: Setup) -> dict[str, float]:
    """Return words a second: a long file's less a short one's, so that no start is counted."""
    figures = {}
    short, long = (len(setup.task.lines(part, "source")) for part in ("dev", "long"))
    for beam in (1, 5):
        took = [translate(peer, setup, part, beam).seconds for part in ("dev", "long")]
        if took[1] <= took[0]:
            raise SystemExit(
                f"{peer.name} took {took[0]:.1f} s for {short:,} words and {took[1]:.1f} s for "
                f"{long:,}, but more must take longer; a quieter machine would do"
            )
        figures[name(beam)] = (long - short) / (took[1] - took[0])
        written = (setup.folder / f"dev.{beam}").read_text(encoding="utf-8").split()
        figures[f"symbols, {name(beam)}"] = len(written) / short
    return figures
