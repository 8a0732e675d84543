"""The rows that want a GPU: the paper's model, its parts alone, and a Transformer on all words."""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import ours
from benchmarks.machine import ROOT
from benchmarks.paces import Mark, json_marks, pace
from benchmarks.programs import Ran, follow
from benchmarks.rows import OURS, PLAIN, Contender, Measured, Row, Target
from benchmarks.sites import Site
from benchmarks.tasks import Task, full_words, write_pairs

if TYPE_CHECKING:
    from regard.config.settings import Settings

UPDATES, WARM = 200, 50
# of lines of many lengths most shapes must have come once, since each is recorded then
SHAPED_UPDATES, SHAPED_WARM = 1000, 500
# with the four that are no words, the paper's 30,000
LINES, LENGTH, KNOWN, ROWS = 8_000, 50, 29_996, 80


def _alone(site: Site, who: str, what: str, precision: str = "float32") -> Measured:
    """Time a part alone, called and, where it was recorded, replayed."""
    words = [sys.executable, "-m", "benchmarks.gpu", who, what, "--precision", precision]
    ran = follow(words, threads=site.threads, folder=ROOT).expected(f"{who} {what}")
    said = json.loads(ran.lines[-1][1])
    figures = {name: one["milliseconds"] for name, one in said.items()}
    figures |= {f"GiB, {name}": one["gibibytes"] for name, one in said.items()}
    return Measured(figures, ran.others, ran.peak)


def decoder(site: Site) -> Row:
    """Return the decoder alone, forward and backward, as a graph that is replayed."""

    def measure(who: str) -> Measured:
        precisions = ("float32", "tf32")
        took = {name: _alone(site, who, "decoder", name).figures["replayed"] for name in precisions}
        return Measured(took)

    return Row(
        "decoder",
        "decoder forward and backward, replayed, B = 64, S = T = 30, n = 512, additive attention",
        "ms",
        Contender(PLAIN, lambda: measure("plain")),
        (Contender(OURS, lambda: measure("ours")),),
        {"float32": Target(2.5, aim=1.5), "tf32": Target(2.5, aim=1.5)},
        higher_is_better=False,
        rounds=site.rounds or 3,
        kernels=True,
    )


def attention(site: Site, length: int) -> Row:
    """Return additive attention alone, forward and backward: how long and how much memory."""
    what = f"attention-{length}"
    least, aim, size = (
        (4.0, 2.5, "B = 16, A = 512") if length == 512 else (8.0, None, "B = 4, A = 256")
    )
    return Row(
        what,
        f"additive attention forward and backward, S = T = {length}, {size}, float32",
        "ms or GiB",
        Contender(PLAIN, lambda: _alone(site, "plain", what)),
        (Contender(OURS, lambda: _alone(site, "ours", what)),),
        {"called": Target(least, aim=aim), "GiB, called": Target(0.3)},
        higher_is_better=False,
        rounds=site.rounds or 3,
        kernels=True,
    )


def rnnsearch(site: Site) -> Row:
    """Return an update of the paper's model at its sizes, as a run trains it."""
    pairs = _generated(site.work / "rnnsearch")

    def measure(precision: str) -> Measured:
        figures: dict[str, float] = {}
        for name, cell in (("reset before", "gru_before"), ("reset after", "gru_after")):
            out = site.work / "rnnsearch" / f"{cell}-{precision}.regard"
            chosen = _paper(cell, precision)
            files = pairs, pairs.with_name("one.tsv"), out
            _, marks = ours.follow_training(chosen, files, UPDATES, site.threads)
            figures[name] = _milliseconds(marks)
        return Measured(figures)

    def plain(precision: str) -> Measured:
        took = _alone(site, "plain", "rnnsearch", precision).figures["called"]
        return Measured({"reset before": took, "reset after": took})

    return Row(
        "rnnsearch",
        "RNNsearch-50 at the paper's sizes, batch 80, S = T = 50, Adadelta, one update",
        "ms",
        Contender(PLAIN, lambda: plain("bfloat16")),
        (
            Contender(OURS, lambda: measure("bfloat16")),
            Contender(f"{PLAIN}, tf32", lambda: plain("tf32"), extra=True),
            Contender(f"{OURS}, float32", lambda: measure("float32"), extra=True),
        ),
        {"reset before": Target(12.0, aim=6.25), "reset after": Target(9.0, aim=6.25)},
        higher_is_better=False,
        rounds=site.rounds or 3,
        kernels=True,
    )


def _milliseconds(marks: list[Mark]) -> float:
    counted = [mark for mark in marks if mark.step >= WARM]
    first, last = counted[0], counted[-1]
    return 1000 * (last.seconds - first.seconds) / (last.step - first.step)


def _generated(folder: Path) -> Path:
    """Write lines of 50 words, each of 30,000 among them; a target has one less, then its end."""
    path = folder / "pairs.tsv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        drawn = random.Random(1)
        words = [f"w{number}" for number in range(KNOWN)]
        lines = []
        for line in range(LINES):
            source = [words[(line * LENGTH + place) % KNOWN] for place in range(LENGTH)]
            lines.append(f"{' '.join(source)}\t{' '.join(drawn.sample(source, LENGTH - 1))}\n")
        path.write_text("".join(lines))
        path.with_name("one.tsv").write_text(lines[0])
    return path


def _paper(cell: str, precision: str) -> "Settings":
    from regard.config.settings import DataConfig, Settings, TextConfig, TrainConfig
    from regard.models import paper_sizes, preset

    sizes: dict[str, Any] = dict(paper_sizes("bahdanau2015").sizes)
    train = TrainConfig(
        batch_tokens=ROWS * (LENGTH + 1),
        optimizer="adadelta",
        learning_rate=1.0,
        label_smoothing=0.0,
        max_steps=ours.FOREVER,
        validate_every=ours.FOREVER,
        save_every=ours.FOREVER,
        report_every=10,
        metric="loss",
        device="cuda",
        precision=precision,  # type: ignore[arg-type]
    )
    return Settings(
        data=DataConfig(normalization="none"),
        text=TextConfig(
            source="whitespace",
            target="whitespace",
            source_vocabulary_size=KNOWN + 4,
            target_vocabulary_size=KNOWN + 4,
        ),
        model=preset("bahdanau2015")(**sizes, cell=cell),
        train=train,
    )


def transformer_g2p(site: Site) -> Row:
    """Return words a second of a small Transformer on all words."""
    task = _all_words(site)
    lines = task.lines("train", "target")
    mean = sum(line.count(" ") + 2 for line in lines) / len(lines)

    def words(ran: Ran, marks: list[Mark], warm: int = WARM) -> Measured:
        return Measured({"training": pace(marks, warm) / mean}, ran.others, ran.peak)

    def plain() -> Measured:
        command = [sys.executable, "-m", "benchmarks.plain", "train", "transformer", task.folder]
        options = ["--layers", "4", "--rows", "512", "--device", "cuda", "--autocast"]
        options += ["--updates", str(UPDATES)]
        ran = follow([*command, *options], threads=site.threads, folder=ROOT).expected(PLAIN)
        return words(ran, json_marks(ran))

    def regard() -> Measured:
        from regard.models import preset

        sizes = {"model_size": 256, "feed_forward_size": 1024, "num_heads": 4, "num_layers": 4}
        model = preset("vaswani2017")(**sizes, pre_norm=True, tied_embeddings="none", dropout=0.1)
        known = ours.settings("transformer", task)
        train = replace(
            known.train,
            batch_tokens=ours.budget(task, 1024),
            device="cuda",
            precision="bfloat16",
        )
        chosen = replace(known, model=model, train=train)
        out = site.work / "regard" / "transformer-all-words.regard"
        files = task.pairs("train"), task.pairs("one"), out
        ran, marks = ours.follow_training(chosen, files, SHAPED_UPDATES, site.threads)
        return words(ran, marks, SHAPED_WARM)

    return Row(
        "transformer-g2p",
        "Transformer 4 + 4, width 256, all words to sounds, bfloat16, batches of about 1,024 words",
        "words/s",
        Contender(PLAIN, plain),
        (Contender(OURS, regard),),
        {"training": Target(80_000, aim=150_000)},
        rounds=site.rounds or 2,
    )


def _all_words(site: Site) -> Task:
    known = site.task("g2p")
    sides = (known.lines("dev", side) for side in ("source", "target"))
    task = Task("all-words", site.work / "all-words", known.max_length)
    return write_pairs(task, full_words(site.data), list(zip(*sides, strict=True)))
