"""What can be learned in seconds: to copy, reverse or sort a string of digits."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import torch

from regard.config.settings import TrainConfig
from regard.data.corpus import Corpus, write_corpus
from regard.models import build, preset
from regard.search import SearchRequest, search
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters
from regard.text.vocabulary import Vocabulary
from regard.training.checkpoints import load_final_weights
from regard.training.loop import TrainingJob, train
from regard.training.progress_report import ValidationResult
from regard.training.run_folder import RunFolder
from search_options import wanted
from training_job import SilentReport

LONGEST = 8
PAIRS = 60_000
TASKS = {
    "copy": lambda line: line,
    "reverse": lambda line: line[::-1],
    "sort": lambda line: "".join(sorted(line)),
}


class Recipe(NamedTuple):
    """Sizes and settings by which a preset learns quickly."""

    sizes: dict[str, int]
    train: dict[str, int | float]


RECIPES = {
    "cho2014": Recipe(
        {"embedding_size": 24, "hidden_size": 128, "readout_size": 64},
        {"batch_tokens": 400, "learning_rate": 0.004, "max_steps": 1500},
    ),
    "sutskever2014": Recipe(
        {"embedding_size": 24, "hidden_size": 128, "num_layers": 1},
        {"batch_tokens": 600, "learning_rate": 0.012, "max_steps": 1000, "warmup_steps": 50},
    ),
    "bahdanau2015": Recipe(
        {"embedding_size": 24, "hidden_size": 48, "align_size": 32, "readout_size": 32},
        {"batch_tokens": 600, "learning_rate": 0.006, "max_steps": 400},
    ),
    "luong2015": Recipe(
        {"embedding_size": 24, "hidden_size": 64, "num_layers": 1},
        {"batch_tokens": 600, "learning_rate": 0.008, "max_steps": 500},
    ),
    "gehring2017": Recipe(
        {"embedding_size": 48, "hidden_size": 48, "num_layers": 2, "max_length": 64},
        {"batch_tokens": 600, "learning_rate": 0.006, "max_steps": 600},
    ),
    "vaswani2017": Recipe(
        {
            **{"model_size": 32, "feed_forward_size": 64, "num_heads": 4, "num_layers": 2},
            "max_length": 64,
        },
        {"batch_tokens": 600, "learning_rate": 0.006, "max_steps": 600, "warmup_steps": 50},
    ),
}


def drawn(rng):
    return "".join(rng.choices("0123456789", k=rng.randint(1, LONGEST)))


def unseen(rng, seen, count):
    """Draw strings that are not among those seen, and remember them."""
    found = []
    while len(found) < count:
        if (line := drawn(rng)) not in seen:
            seen.add(line)
            found.append(line)
    return found


def exact_match(model, side, lines, answer):
    """Return the share of lines that the model answers to the last digit, EOS included."""
    requests = [SearchRequest(tuple(side.encode(line))) for line in lines]
    found = search([model], requests, wanted(max_length=LONGEST + 2, batch_size=64))
    outputs = [side.detokenize(side.vocabulary.decode(answers[0].token_ids)) for answers in found]
    return sum(map(str.__eq__, outputs, map(answer, lines))) / len(lines)


class Result(NamedTuple):
    """How many of the unseen strings came out right, after how many updates."""

    exact: float
    steps: int


def learn(folder, name, task, seed, longer=1.0):
    """Teach a preset a task; stop once 200 strings for validation come right twice.

    `longer` stretches the greatest number of updates.
    """
    folder.mkdir(parents=True, exist_ok=True)
    recipe, answer, rng = RECIPES[name], TASKS[task], random.Random(seed)
    max_steps = round(recipe.train["max_steps"] * longer)
    side = TextProcessor("NFC", Characters(), Vocabulary.build(["0123456789"]))
    lines = [drawn(rng) for _ in range(PAIRS)]
    seen = set(lines)
    dev, test = unseen(rng, seen, 200), unseen(rng, seen, 300)
    write_corpus(folder / "corpus", ((side.encode(s), side.encode(answer(s))) for s in lines))
    config = TrainConfig(
        seed=seed,
        schedule="cosine",
        label_smoothing=0.0,
        patience=0,
        average_checkpoints=2,
        average_checkpoints_from="last",
        validate_every=50 if max_steps < 1000 else 100,
        save_every=100_000,
        **{**recipe.train, "max_steps": max_steps},
    )
    torch.manual_seed(seed)
    symbols = len(side.vocabulary)
    model = build(preset(name)(**recipe.sizes, dropout=0.0), symbols, symbols)
    scores = []

    def validate(model):
        scores.append(exact_match(model, side, dev, answer))
        return ValidationResult(scores[-1])

    corpus, run = Corpus.open(folder / "corpus"), RunFolder(folder)
    job = TrainingJob(model, corpus, config, run, validate, True, {"task": task})
    progress = train(job, SilentReport(), stop=lambda: sum(scores[-2:]) >= 1.99)
    return Result(exact_match(load_final_weights(job, progress), side, test, answer), progress.step)


def learn_apart(folder, name, task, seed, longer=1.0):
    """Learn in a process of its own, without the checks of shapes that other tests are there for.

    It takes little more than half the time.
    """
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tests.parent / 'src'}:{tests}"}
    run = subprocess.run(
        [sys.executable, __file__, str(folder), name, task, str(seed), str(longer)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Result(*json.loads(run.stdout))


if __name__ == "__main__":
    torch.set_num_threads(1)
    where, name, task, seed, longer = sys.argv[1:]
    print(json.dumps(learn(Path(where), name, task, int(seed), float(longer))))
