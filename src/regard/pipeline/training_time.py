"""Estimates the training time before anything is encoded: a few updates on random tokens."""

import time

import torch
from torch import Tensor

from regard.config.settings import Settings
from regard.data.batches import Batch
from regard.models import build
from regard.pipeline.auto_configuration import auto_configure, mean_tokens, will_use_gpu
from regard.pipeline.corpus_profile import CorpusProfile, SideProfile
from regard.special_tokens import EOS
from regard.training.estimate import TRIALS
from regard.training.loop import make_gradients
from regard.training.optimizer import make_optimizer
from regard.translator import select_device

FIRST_TOKEN = EOS + 1
"""The first id that is not a special token."""


def estimate_training_seconds(profile: CorpusProfile) -> float:
    """Estimate the time of all updates with automatic settings, without validations."""
    settings = auto_configure(profile, {}, on_gpu=will_use_gpu({})).settings
    config, text = settings.train, settings.text
    sizes = (
        _vocabulary_size(profile.source, text.source, text.source_vocabulary_size),
        _vocabulary_size(profile.target, text.target, text.target_vocabulary_size),
    )
    if text.shared_vocabulary:
        sizes = max(sizes), max(sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = build(settings.model, *sizes).to(select_device(config.device)).train()
        batch = _random_batch(profile, settings, sizes)
        optimizer, gradients = make_optimizer(model, config), make_gradients(model, config)
        start = 0.0
        # the first update is slower than others
        for number in range(1 + TRIALS):
            start = time.perf_counter() if number == 1 else start
            read_loss = gradients([batch], batch.num_tokens)
            optimizer.step()
            # reading the loss waits for the GPU
            read_loss()
    seconds = (time.perf_counter() - start) / TRIALS
    return seconds * config.gradient_accumulation_steps * config.max_steps


def _vocabulary_size(side: SideProfile, kind: str, limit: int) -> int:
    num_tokens = {
        "characters": len(side.characters),
        "tagged": len(side.characters) + (0 if side.tags is None else len(side.tags.tags)),
        "words": len(side.words),
        "whitespace": len(side.words),
        "phonemes": side.num_phoneme_tokens,
    }
    return FIRST_TOKEN + min(limit, num_tokens.get(kind, limit))


def _random_batch(profile: CorpusProfile, settings: Settings, sizes: tuple[int, int]) -> Batch:
    """Return a full batch of lines of mean length."""
    text = settings.text
    widths = [
        max(1, round(mean_tokens(side, kind)))
        for side, kind in ((profile.source, text.source), (profile.target, text.target))
    ]
    rows = max(1, settings.train.batch_tokens // max(widths))

    def tokens(side: int) -> Tensor:
        return torch.randint(FIRST_TOKEN, sizes[side], (rows, widths[side]))

    source, fed, target = tokens(0), tokens(1), tokens(1)
    visible = (torch.ones_like(source, dtype=torch.bool), torch.ones_like(fed, dtype=torch.bool))
    return Batch(source, visible[0], fed, target, visible[1])
