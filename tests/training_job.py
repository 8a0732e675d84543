"""A small run that can be started again: reverse strings of digits."""

import random
import sys
from pathlib import Path

import torch

from regard.config.settings import Settings, TrainConfig
from regard.data.corpus import Corpus, write_corpus
from regard.models import build, preset
from regard.saved_model import SavedModel, save_model
from regard.search import SearchRequest, search
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters
from regard.text.vocabulary import Vocabulary
from regard.training.checkpoints import load_final_weights
from regard.training.loop import TrainingJob, train
from regard.training.progress_report import ValidationResult
from regard.training.run_folder import RunFolder
from search_options import wanted

SIZES = {
    "cho2014": {"embedding_size": 24, "hidden_size": 96, "readout_size": 48},
    "sutskever2014": {"embedding_size": 24, "hidden_size": 96, "num_layers": 1},
    "bahdanau2015": {
        "embedding_size": 24,
        "hidden_size": 48,
        "align_size": 32,
        "readout_size": 32,
    },
    "luong2015": {"embedding_size": 24, "hidden_size": 64, "num_layers": 1},
    "gehring2017": {"embedding_size": 48, "hidden_size": 48, "num_layers": 2, "max_length": 64},
    "vaswani2017": {
        "model_size": 64,
        "feed_forward_size": 128,
        "num_heads": 4,
        "num_layers": 2,
        "max_length": 64,
    },
}


class SilentReport:
    def start(self, *_): ...

    def update(self, *_): ...

    def begin_validation(self, *_): ...

    def end_validation(self, *_): ...


def digits(count, seed, longest=8):
    rng = random.Random(seed)
    return ["".join(rng.choices("0123456789", k=rng.randint(1, longest))) for _ in range(count)]


def job(folder, name="bahdanau2015", *, pairs=400, dropout=0.2, **options):
    """Create a run in a folder, or open an existing one."""
    folder.mkdir(parents=True, exist_ok=True)
    side = TextProcessor("NFC", Characters(), Vocabulary.build(["0123456789"]))
    settings = Settings(
        model=preset(name)(**SIZES[name], dropout=dropout), train=TrainConfig(**options)
    )
    if not (folder / "corpus").exists():
        lines = digits(pairs, seed=1)
        write_corpus(folder / "corpus", ((side.encode(s), side.encode(s[::-1])) for s in lines))
    torch.manual_seed(settings.train.seed)
    model = build(settings.model, len(side.vocabulary), len(side.vocabulary))
    dev = digits(40, seed=2)

    def exact(model):
        requests = [SearchRequest(tuple(side.encode(line))) for line in dev]
        found = search([model], requests, wanted(max_length=12, batch_size=40))
        right = [
            side.detokenize(side.vocabulary.decode(answers[0].token_ids)) == line[::-1]
            for answers, line in zip(found, dev, strict=True)
        ]
        return ValidationResult(100 * sum(right) / len(right))

    made = TrainingJob(
        model,
        Corpus.open(folder / "corpus"),
        settings.train,
        RunFolder(folder),
        exact,
        True,
        {"settings": 1},
    )
    return made, settings, side


def run(folder, *arguments, **options):
    """Train to the end and save the model."""
    made, settings, side = job(folder, *arguments, **options)
    progress = train(made, SilentReport())
    saved = SavedModel(
        load_final_weights(made, progress), settings, side, side, {"steps": progress.step}
    )
    save_model(folder / "model.regard", saved)
    return progress


RESUMED = {
    "max_steps": 40,
    "validate_every": 10,
    "save_every": 4,
    "report_every": 1,
    "batch_tokens": 200,
    "gradient_accumulation_steps": 2,
    "average_checkpoints": 2,
    "learning_rate": 0.003,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    run(Path(sys.argv[1]), **RESUMED)
