"""The rows that a machine without a GPU can measure: training, decoding and starting."""

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import ct2, fairseq, opennmt, ours
from benchmarks.paces import Mark, json_figures, json_marks, pace
from benchmarks.peers import CTRANSLATE2, EOLE, FAIRSEQ, OPENNMT, Peer, Setup
from benchmarks.programs import Ran, follow
from benchmarks.rows import FASTEST, OURS, PLAIN, Contender, Measured, Row, Target
from benchmarks.sites import WARM, Site
from benchmarks.tasks import Task

PROGRAM = (sys.executable, "-m", "benchmarks.plain")
ROOT = Path(__file__).parents[1]
TRAINING = "training"
SEARCHES = ("greedy", "beam 5")


def training(site: Site, kind: str) -> Row:
    """Train the model of a kind, in batches of 64 lines."""
    task = site.task("mt" if kind == "transformer" else "g2p")
    counted = site.updates or (20 if kind == "transformer" else 40)
    least, aim = {"additive": (1.3, 2.0), "bilinear": (1.2, 1.5), "transformer": (1.1, 1.5)}[kind]
    peers = (OPENNMT, EOLE) if kind == "additive" else (OPENNMT, EOLE, FAIRSEQ)
    found, missing = site.present(peers, lambda peer: _peer_trains(site, peer, kind, counted))
    extra = [_sorted(site, kind, task, counted)]
    if kind == "additive":
        paper = _ours_trains(site, "bahdanau", task, counted)
        extra.append(Contender(f"{OURS}, bahdanau2015", paper, extra=True))
    models = {
        "additive": "BiGRU 256 × 2, GRU 512, additive attention, words to sounds",
        "bilinear": "BiGRU 256 × 2, GRU 512, bilinear attention, words to sounds",
        "transformer": "Transformer 3 + 3, width 256, German to English, 10,000 words",
    }
    return Row(
        f"train-{kind}",
        f"{models[kind]}, batch 64, {site.threads} threads",
        "tokens/s",
        Contender(PLAIN, lambda: _plain_trains(site, kind, task, counted)),
        (Contender(OURS, _ours_trains(site, kind, task, counted)), *found, *extra),
        {TRAINING: Target(least, FASTEST, aim)},
        missing=missing,
        rounds=site.rounds or 2,
        kernels=kind != "transformer",
    )


def _measured(ran: Ran, marks: list[Mark]) -> Measured:
    return Measured({TRAINING: pace(marks, WARM)}, ran.others, ran.peak)


def _plain_trains(site: Site, kind: str, task: Task, counted: int, *more: str) -> Measured:
    updates = str(WARM + counted)
    command = [*PROGRAM, "train", kind, task.folder, "--updates", updates, *more]
    ran = follow(command, threads=site.threads, folder=ROOT).expected(PLAIN)
    return _measured(ran, json_marks(ran))


def _sorted(site: Site, kind: str, task: Task, counted: int) -> Contender:
    """Return the reference with lines of like length together, as most peers have them."""
    return Contender(
        f"{PLAIN}, sorted",
        lambda: _plain_trains(site, kind, task, counted, "--bucketed"),
        extra=True,
    )


def _ours_trains(site: Site, kind: str, task: Task, counted: int) -> Callable[[], Measured]:
    def measure() -> Measured:
        out = site.work / "regard" / f"{kind}-{task.name}-timed.regard"
        files = task.pairs("train"), task.pairs("one"), out
        updates, chosen = WARM + counted, ours.settings(kind, task)
        return _measured(*ours.follow_training(chosen, files, updates, site.threads))

    return measure


def _peer_trains(site: Site, peer: Peer, kind: str, counted: int) -> Measured:
    task = site.task("mt" if kind == "transformer" else "g2p")
    setup = site.setup(peer, f"{kind}-timed", task)
    if peer is FAIRSEQ:
        ran = fairseq.train(setup, kind, WARM + counted)
        return _measured(ran, fairseq.marks(ran))
    ran = opennmt.train(peer, setup, kind, WARM + counted)
    return _measured(ran, opennmt.marks(ran))


def decoding(site: Site, kind: str) -> Row:
    """Decode 500 words, 32 at a time, with models that have learned a little."""
    task = site.task("g2p")
    peers = (OPENNMT, EOLE) if kind == "additive" else (OPENNMT, EOLE, CTRANSLATE2)
    found, missing = site.present(peers, lambda peer: _peer_decodes(site, peer, kind, task))
    target = Target(3.0, OPENNMT.name) if kind == "additive" else Target(1.0, CTRANSLATE2.name)
    name = "recurrent" if kind == "additive" else "transformer"
    return Row(
        f"decode-{name}",
        f"500 words to sounds, batch 32, {name}, {site.threads} threads",
        "words/s",
        Contender(PLAIN, lambda: _plain_decodes(site, kind, task)),
        (Contender(OURS, lambda: _ours_decodes(site, kind, task)), *found),
        dict.fromkeys(SEARCHES, target),
        missing=missing,
        rounds=site.rounds or 2,
    )


def _plain_decodes(site: Site, kind: str, task: Task) -> Measured:
    file = site.work / "plain" / f"{kind}.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        words = [*PROGRAM, "train", kind, task.folder, "--updates", str(site.trained)]
        follow([*words, "--file", file], threads=site.threads, folder=ROOT).expected(PLAIN)
    command = [*PROGRAM, "decode", kind, task.folder, "--file", file]
    ran = follow(command, threads=site.threads, folder=ROOT).expected(PLAIN)
    return Measured(json_figures(ran), ran.others, ran.peak)


def trained(site: Site, kind: str, task: Task) -> Path:
    """Return a model of ours that has learned a little, and train it where it is not there."""
    out = site.work / "regard" / f"{kind}-{task.name}.regard"
    if not out.exists():
        chosen = ours.settings(kind, task, site.trained, 50)
        command = ours.start(chosen, task.pairs("train"), task.pairs("one"), out)
        follow(command, threads=site.threads).expected("regard train")
    return out


def _ours_decodes(site: Site, kind: str, task: Task) -> Measured:
    file = task.file("dev", "source")
    command = [sys.executable, "-m", "benchmarks.ours", trained(site, kind, task), file]
    ran = follow(command, threads=site.threads, folder=ROOT).expected(OURS)
    return Measured(json_figures(ran), ran.others, ran.peak)


def _peer_decodes(site: Site, peer: Peer, kind: str, task: Task) -> Measured:
    if peer is CTRANSLATE2:
        checkpoint = opennmt.model(OPENNMT, peer_trained(site, OPENNMT, kind, task).folder)
        return ct2.decode(site.setup(peer, f"{kind}-converted", task), checkpoint)
    return Measured(opennmt.decode(peer, peer_trained(site, peer, kind, task)))


def peer_trained(site: Site, peer: Peer, kind: str, task: Task) -> Setup:
    """Return where a peer has a model that has learned a little."""
    setup = site.setup(peer, kind, task)
    done = setup.folder / "trained"
    if not done.exists():
        opennmt.train(peer, setup, kind, site.trained)
        done.touch()
    return setup


def starting(site: Site) -> Row:
    """Print help, and translate one line from nothing."""
    task = site.task("g2p")
    found, missing = site.present((OPENNMT, EOLE), lambda peer: _peer_starts(site, peer, task))
    command = [sys.executable, "-c", "import torch"]

    def plain() -> Measured:
        took = follow(command, threads=site.threads).expected(PLAIN).seconds
        return Measured({"help": took, "one line": took})

    def regard() -> Measured:
        words = ["translate", trained(site, "additive", task), "--text"]
        line = task.lines("one", "source")[0]
        help_ = follow([*ours.COMMAND, "--help"], threads=site.threads).expected(OURS)
        one = follow([*ours.COMMAND, *words, line], threads=site.threads).expected(OURS)
        return Measured({"help": help_.seconds, "one line": one.seconds}, one.others, one.peak)

    return Row(
        "start",
        "the command line's help; one line translated by a cold start; reference: import torch",
        "s",
        Contender(PLAIN, plain),
        (Contender(OURS, regard), *found),
        {"help": Target(0.3), "one line": Target(2.5)},
        higher_is_better=False,
        missing=missing,
        rounds=site.rounds or 3,
    )


def _peer_starts(site: Site, peer: Peer, task: Task) -> Measured:
    words = [peer.program(site.peers, "eole"), "predict"]
    words = words if peer is EOLE else [peer.program(site.peers, "onmt_translate")]
    help_ = follow([*words, "--help"], threads=site.threads).expected(peer.name)
    one = opennmt.translate(peer, peer_trained(site, peer, "additive", task), "one", 1)
    return Measured({"help": help_.seconds, "one line": one.seconds}, one.others, one.peak)
