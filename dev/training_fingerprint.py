"""`python -m dev.training_fingerprint --out FILE`: what small models learn, to the last bit.

Trains small models in many ways with the `regard` on the path; writes digests of their weights that
no renaming changes, and their outputs for a few lines. `--compare FILE` repeats this, names each
case that differs, and then ends with 1. Last bits depend on the CPU and the versions of torch and
numpy: if these differ, first let the older version write its record on this machine, with its own
version of this file: `PYTHONPATH=src:. python -m dev.training_fingerprint …`.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-c", "import sys; from regard.cli import main; sys.exit(main())")
Tree = dict[str, Any]
Pairs = list[tuple[str, str]]

# --- what other versions may name differently: settings here, calls in `train` to `answers` ---

BASE = """
model.dropout=0.1 data.max_dev=20 search.max_length=12 train.average=0 train.batch_tokens=320
train.device=cpu train.learning_rate=0.01 train.max_steps=40 train.metric=loss train.save_every=40
train.schedule=constant train.validate_every=40 train.warmup_steps=0
"""
FEW = "train.max_steps=30 train.device=cpu data.max_dev=20"
START = re.sub(r"model\.\S+", "", BASE)
SIZES = {
    "cho2014": "model.embedding_size=8 model.hidden_size=28 model.readout_size=14",
    "sutskever2014": "model.embedding_size=8 model.hidden_size=32 model.num_layers=1",
    "bahdanau2015": """model.embedding_size=8 model.hidden_size=20 model.align_size=16
        model.readout_size=12""",
    "luong2015": "model.embedding_size=8 model.hidden_size=24 model.num_layers=1",
    "gehring2017": "model.embedding_size=16 model.hidden_size=16 model.num_layers=2",
    "vaswani2017": """model.model_size=24 model.feed_forward_size=32 model.num_heads=2
        model.num_layers=1 model.tied=output""",
}
SHORT = {
    "OFTEN": "train.validate_every=10 train.save_every=10",
    "WORDS": "text.source=words text.target=words",
    "FIRST": "model.decoder.first",
    "ATTENTION": "model.decoder.attention",
    "PLACES": "attention_positions",
    "OWN": 'model.summary=none model.readout.inputs=["new_state","previous"]',
    "HEADS": '{"kind":"transformer","model_size":8,"feed_forward_size":16,"num_heads":2}',
    "KERNELS": '{"kind":"convolutional","hidden_size":8,"num_layers":2,"dropout":0.1}',
}
# name | preset, pairs (else digits), action (else train) | settings over the base and the sizes;
# a/b yields two cases; `automatic` has neither base nor sizes, `start` no settings of a model
CASES = """
automatic letters/sentences/tags/sounds | digits/sentences/tags/sounds automatic |
automatic transformer/convolutions | vaswani2017/gehring2017 automatic |
words | bahdanau2015 sentences | WORDS train.metric=bleu
rare words | luong2015 sentences | WORDS text.min_count=40 text.target_size=20
subwords | bahdanau2015 sentences | text.source=unigram text.source_size=60 text.target=words
one vocabulary | vaswani2017 sentences | text.source=bpe text.target=bpe text.source_size=70
    text.target_size=70 text.shared=true model.tied=all
sounds apart | bahdanau2015 sounds | text.target=sounds data.normalization=NFD
symbols | luong2015 sounds | text.target=symbols train.metric=per
tags | bahdanau2015 tags | text.source=tagged train.metric=cer
accumulation | bahdanau2015 | train.accumulate=2
agreement | bahdanau2015 | train.agreement=1.0
agreement, accumulation | vaswani2017 | train.agreement=1.0 train.accumulate=3
agreement, copies | luong2015 | train.agreement=0.5 model.readout.copies=true
mean of the best | vaswani2017 | train.average=3 train.validate_every=4 train.learning_rate=0.1
mean of the last | luong2015 | OFTEN train.average=2 train.average_of=last
early end | bahdanau2015 | train.patience=2 train.validate_every=4 train.learning_rate=0.3
no/much smoothing | bahdanau2015 | train.label_smoothing=0.0/0.3
no/much dropout | bahdanau2015 | model.dropout=0.0/0.5
no/much clipping | cho2014 | train.clip_norm=0.0/0.05
inverse/linear/cosine | vaswani2017/gehring2017/bahdanau2015 | train.warmup_steps=10
    train.schedule=inverse_sqrt/linear/cosine
decay/adadelta | bahdanau2015 | train.optimizer=adamw/adadelta train.weight_decay=0.05
bfloat16 recurrence/transformer | bahdanau2015/vaswani2017 | train.precision=bfloat16 train.seed=7
exact | bahdanau2015 | OFTEN train.metric=exact
score concat/bilinear/location | bahdanau2015 | ATTENTION.score=concat/bilinear/location
score additive/dot/scaled/gaussian/width | luong2015 |
    ATTENTION.score=additive/dot/scaled_dot/gaussian/gaussian_learned
coverage bahdanau/luong | bahdanau2015/luong2015 | ATTENTION.score=additive ATTENTION.coverage=true
window monotonic/predictive | luong2015 | model.half_width=2 model.window=local_m/local_p
no input feeding | luong2015 | model.input_feeding=false
states alone | luong2015 | model.input_feeding=false model.decoder.attentional=false
attention dropout | bahdanau2015 | ATTENTION.dropout=0.2
elman/reset/gru/lstm | bahdanau2015 | model.num_layers=2 model.cell=elman/gru_before/gru_after/lstm
two layers without attention | cho2014 | model.cell=lstm model.num_layers=2
two directions cho/sutskever/luong | cho2014/sutskever2014/luong2015 | model.bidirectional=true
residual | luong2015 | model.num_layers=3 model.encoder.residual=true model.decoder.residual=true
one-hot | bahdanau2015 | model.source.one_hot=true model.source.size=14
positions | bahdanau2015 | model.source.positions=sinusoidal
mean/max | bahdanau2015 | model.summary=mean/max
zero | bahdanau2015 | model.summary=none FIRST=zero
one direction | bahdanau2015 | model.bidirectional=false model.summary=none FIRST=copy
no bias | bahdanau2015 | model.encoder.bias=false model.decoder.bias=false
one matrix | bahdanau2015 | model.readout.kind=tanh model.readout.size=8 model.tied=output
linear readout | bahdanau2015 | model.readout.kind=linear model.readout.inputs=["context"]
copies bahdanau/transformer | bahdanau2015/vaswani2017 | model.readout.copies=true
copies luong | luong2015 sentences | WORDS model.readout.copies=true
norm before | vaswani2017 | model.pre_norm=true model.num_layers=2
rotary/relative | vaswani2017 | model.encoder.max_distance=2
    model.encoder.PLACES=rotary/relative model.decoder.PLACES=rotary/relative
matrices three/one | vaswani2017 | text.shared=true model.tied=none/all
wide kernel | gehring2017 | model.kernel_size=5 model.num_layers=3
encoder heads/kernels | luong2015 | model.summary=mean FIRST=tanh model.encoder=HEADS/KERNELS
decoder heads/kernels | bahdanau2015 | OWN model.decoder=HEADS/KERNELS
one go | bahdanau2015 | OFTEN train.accumulate=2 train.average=3 train.learning_rate=0.1
resume | bahdanau2015 resume | OFTEN train.accumulate=2 train.average=3 train.learning_rate=0.1
resume, cosine | luong2015 resume | OFTEN train.schedule=cosine train.save_every=20
validation pairs | bahdanau2015 validate | train.metric=wer
start | bahdanau2015 letters start | train.validate_every=20
start, freeze | bahdanau2015 start | train.freeze=["encoder","embeddings"]
start, copies | vaswani2017 letters start | model.readout.copies=true
start of an older file | luong2015 letters start_older |
embeddings | luong2015 sentences embeddings | WORDS
searches | bahdanau2015 search | train.max_steps=150
"""
SEARCHES: Tree = {"own": {}, "beam 1": {"beam_size": 1}, "beam 4": {"beam_size": 4, "nbest": 2}}
MORE_SEARCHES: Tree = {
    "samples": {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "nbest": 3, "seed": 7},
    "lengths": {"beam_size": 4, "length_penalty": 0.0, "min_length": 3, "max_length": 5},
    "full": {"beam_size": 4, "nbest": 4, "stop": "full", "batch_size": 1},
    "same length": {"beam_size": 4, "same_length": True},
    "same pattern": {"beam_size": 4, "same_pattern": True},
    "prefix": {"beam_size": 4, "prefix": "12", "banned": ["7"]},
    "pin": {"beam_size": 2, "pin": {0: 0}},
}


class Case(NamedTuple):
    """One way to train: a line of the table, with its settings as `section.setting=value`."""

    name: str
    preset: str | None
    pairs: str
    action: str
    settings: tuple[str, ...]

    @property
    def tree(self) -> Tree:
        """The settings as nested sections; a later one overrides an earlier one."""
        tree: Tree = {}
        for setting in self.settings:
            path, _, text = setting.partition("=")
            *outer, last = path.split(".")
            inner = tree
            for section in outer:
                inner = inner.setdefault(section, {})
            plain = re.fullmatch(r"[A-Za-z]\w*", text) and text not in ("true", "false")
            inner[last] = text if plain else json.loads(text)
        return tree


def cases() -> Iterator[Case]:
    """Yield a case for each preset, then those of the table."""
    table = re.sub(r"\n +", " ", CASES).strip()
    for line in [*(f"{preset} | {preset} |" for preset in SIZES), *table.split("\n")]:
        count = max(word.count("/") for word in line.split()) + 1
        yield from (read(line, at) for at in range(count))


def read(line: str, at: int) -> Case:
    """Read one line of the table; of a/b take the alternative at an index."""
    line = re.sub(r"[^\s=]+/[^\s=]+", lambda part: part[0].split("/")[at], line)
    for key, value in SHORT.items():
        line = re.sub(rf"\b{key}\b", value, line)
    name, words, text = (part.strip() for part in line.split("|"))
    preset = next((word for word in words.split() if word in SIZES), None)
    pairs = next((word for word in words.split() if word in LINES), "digits")
    action = next((word for word in words.split() if word in ACTIONS), "train")
    general = f"{BASE} {SIZES.get(preset or '', '')}"
    base = {"automatic": FEW, "start": START, "start_older": START}.get(action, general)
    return Case(name, preset, pairs, action, (*base.split(), *text.split()))


def train(pairs: Pairs, model: Path, case: Case, **files: Any) -> None:
    """Train with the Python API."""
    import regard

    if case.action == "validate":
        pairs, files = pairs[30:], {"dev": pairs[:30]}
    if "start_from" not in files:
        files["preset"] = case.preset
    regard.train(pairs, quiet=True, **case.tree, **files).save(model)


def resume(pairs: Pairs, model: Path, case: Case) -> None:
    """Train half of the updates on the command line, and resume to the end."""
    file = model.with_suffix(".tsv")
    file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    words = [str(file), "--preset", str(case.preset), "--out", str(model)]
    words += [word for setting in case.settings for word in ("--set", setting)]
    half = str(case.tree["train"]["max_steps"] // 2)
    for more in (["--max-steps", half], ["--resume", "--allow-changes"]):
        subprocess.run(
            [*COMMAND, "train", *words, *more], check=True, capture_output=True, text=True
        )


def start(pairs: Pairs, model: Path, case: Case) -> None:
    """Fine-tune a model of this version, or one of an older version."""
    older = ROOT / "tests" / "compat" / f"{case.preset}.regard"
    if case.action == "start":
        older = model.with_name("first.regard")
        first = next(other for other in cases() if other.name == case.preset)
        train(pairs_by_name(first.pairs), older, first)
    train(pairs, model, case, start_from=older)


def embeddings(pairs: Pairs, model: Path, case: Case) -> None:
    """Train with vectors of some words, in word2vec format."""
    draw, size = Random(3), case.tree["model"]["embedding_size"]
    words = sorted({word for pair in pairs for word in " ".join(pair).split()})[::2]
    rows = [" ".join([word, *(f"{draw.gauss(0, 1):.5f}" for _ in range(size))]) for word in words]
    file = model.with_suffix(".txt")
    file.write_text("\n".join([f"{len(words)} {size}", *rows, ""]))
    train(pairs, model, case, embeddings=file)


ACTIONS: dict[str, Callable[[Pairs, Path, Case], None]]
ACTIONS = {"train": train, "automatic": train, "search": train, "validate": train}
ACTIONS |= {"resume": resume, "start": start, "start_older": start, "embeddings": embeddings}


def answers(model: Path, lines: list[str], searches: Tree) -> Tree:
    """Search in several ways; return texts, token scores and a digest of the attention."""
    import regard

    translator = regard.load(model, device="cpu")
    results: Tree = {"updates": [translator.summary[name] for name in ("best_step", "steps")]}
    for name, search in searches.items():
        attention, rows = hashlib.sha256(), []
        for answer in translator.translate(lines, **search):
            if answer.attention is not None:
                attention.update(answer.attention.tobytes())
            # nine digits distinguish all float32 numbers
            for one in answer.alternatives or (answer,):
                rows.append([one.text, [float(f"{score:.9g}") for score in one.token_scores]])
        results[name] = {"attention": attention.hexdigest()[:16], "answers": rows}
    return results


LINES = {
    "digits": ["1234", "20", "31415x"],
    "letters": ["1234", "2a0", "bcab"],
    "sentences": ["the king sees a dog.", "a dog likes the old cat, him.", "zebras hear"],
    "sounds": ["kasi", "tu", "sekutax"],
    "tags": ["lomat V;PST", "sin N;PL", "kor V;NEW"],
}
SUBJECTS = ("the old cat", "a dog", "my young sister", "the king", "her two birds")
VERBS = ("sees", "hears", "likes", "follows")
OBJECTS = ("a red house", "the river", "an apple, a pear", "the green sea", "him", "what you said")
SOUNDS = {"a": "aː", "e": "e", "i": "ĩ", "k": "kʰ", "s": "s", "t": "t͡ʃʰ", "u": "uː˥"}
ENDINGS = {"V;PST": "ed", "V;PRS;3;SG": "s", "V;PTCP;PRS": "ing", "N;PL": "s", "N;SG": ""}


def pairs_by_name(name: str) -> Pairs:
    """Generate pairs, the same each time."""
    draw = Random(1)

    def line(letters: str, least: int, most: int) -> str:
        return "".join(draw.choices(letters, k=draw.randint(least, most)))

    if name == "sentences":
        parts = [[draw.choice(some) for some in (SUBJECTS, VERBS, OBJECTS)] for _ in range(300)]
        return [(f"{s} {v} {o}.", f"{o[::-1]} {s[::-1]} {v}!") for s, v, o in parts]
    if name == "tags":
        stems = [line("aeiouklmnrst", 2, 6) for _ in range(80)]
        return [(f"{stem} {tag}", stem + end) for stem in stems for tag, end in ENDINGS.items()]
    if name == "sounds":
        words = [line("aeikstu", 2, 7) for _ in range(400)]
        return [(word, " ".join(SOUNDS[letter] for letter in word)) for word in words]
    letters = "abc0123456789" if name == "letters" else "0123456789"
    numbers = [line(letters, 1, 6) for _ in range(1200)]
    return [(number, number[::-1]) for number in numbers]


def digests(model: Path) -> Tree:
    """Digest the tensors of a model file without their names, and all of their numbers.

    Sorted numbers stay the same if tensors are joined, split or transposed.
    """
    import torch
    from safetensors.torch import load_file

    def digest(*parts: bytes) -> str:
        return hashlib.sha256(b"".join(parts)).hexdigest()

    flat = [(f"{x.dtype} {list(x.shape)} ", x.reshape(-1)) for x in load_file(model).values()]
    each = sorted(digest(a.encode(), x.view(torch.uint8).numpy().tobytes()) for a, x in flat)
    numbers = torch.cat([x.double() for _, x in flat]).sort().values.numpy()
    together = {"tensors": digest("".join(each).encode()), "numbers": digest(numbers.tobytes())}
    return together | {"counts": [len(each), len(numbers)]}


def entry(case: Case) -> Tree:
    """Train and search in one way; an error is an entry too."""
    import torch

    torch.set_num_threads(1)
    searches = SEARCHES | (MORE_SEARCHES if case.action == "search" else {})
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.regard"
        try:
            ACTIONS[case.action](pairs_by_name(case.pairs), model, case)
            return digests(model) | answers(model, LINES[case.pairs], searches)
        except Exception as error:
            text = str(getattr(error, "stderr", error)).strip().split("\n")[-1]
            return {"error": f"{type(error).__name__}: {text}"}


def record(word: str, commit: str | None) -> Tree:
    """Run the cases whose name contains a word; record the machine and the versions too."""
    import regard

    # one thread per process and per child process
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    some = [case for case in cases() if word in case.name]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        entries = dict(zip((case.name for case in some), pool.map(entry, some), strict=True))
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    cpu = re.findall(r"^(model name|cpu family|model|stepping)\s*: (.*)$", about, re.MULTILINE)
    return {
        "regard": regard.__version__,
        "commit": commit,
        **{name: version(name) for name in ("torch", "numpy")},
        "cpu": dict(cpu),
        "cases": entries,
    }


def as_text(whole: Tree) -> str:
    """Format a record as JSON with one line per case."""
    each = [f"  {json.dumps(name)}: {json.dumps(x)}" for name, x in whole["cases"].items()]
    head = json.dumps({**whole, "cases": {}}, indent=1).removesuffix("{}\n}")
    return head + "{\n" + ",\n".join(each) + "\n }\n}\n"


def changes(old: Tree, new: Tree) -> Iterator[str]:
    """Yield the differences of a case."""
    if "error" in new:
        yield new["error"]
        return
    for name in [name for name in {**old, **new} if old.get(name) != new.get(name)]:
        one, other = old.get(name), new.get(name)
        if not (isinstance(one, dict) and isinstance(other, dict)):
            yield f"{name} {str(one)[:12]} → {str(other)[:12]}"
        elif [(a, len(b)) for a, b in one["answers"]] != [(a, len(b)) for a, b in other["answers"]]:
            yield f"{name}: different texts"
        else:
            pairs = zip(one["answers"], other["answers"], strict=True)
            apart = [abs(x - y) for a, b in pairs for x, y in zip(a[1], b[1], strict=True)]
            yield f"{name}: same texts, scores differ by at most {max(apart, default=0):.2g}"


def compare(old: Tree, new: Tree, word: str) -> dict[str, str]:
    """Return the differences of each case; print those of the environment on stderr."""
    for name in old:
        if name != "cases" and old[name] != new[name]:
            print(f"{name}: {old[name]} → {new[name]}", file=sys.stderr)
    one, other = old["cases"], new["cases"]
    names = [name for name in {**one, **other} if word in name]
    others = {name: "; ".join(changes(one.get(name, {}), other.get(name, {}))) for name in names}
    others = {name: text for name, text in others.items() if text}
    print(f"{len(names) - len(others)} of {len(names)} cases are equal", file=sys.stderr)
    return others


def main() -> None:
    """Write a record, or compare with one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the record to write; default: stdout")
    parser.add_argument("--compare", type=Path, help="a record to compare with")
    parser.add_argument("--commit", help="the commit, for the record")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="only cases whose name contains it"
    )
    options = parser.parse_args()
    new = record(options.only, options.commit)
    if options.out or not options.compare:
        (options.out or Path("/dev/stdout")).write_text(as_text(new))
    others = {name: x["error"] for name, x in new["cases"].items() if "error" in x}
    if options.compare:
        others = compare(json.loads(options.compare.read_text()), new, options.only)
    if others:
        raise SystemExit("\n".join(f"{name}: {text}" for name, text in others.items()))


if __name__ == "__main__":
    main()
