"""What moved each word, by gradient: as small steps of each source embedding have it."""

import numpy as np
import pytest
import torch

from regard.errors import InputError
from regard.models import PRESETS
from regard.special_tokens import BOS, EOS
from regard.translator import Translator
from regard.translator.influence import NUM_COPIES, influence
from small_models import saved

STEP = 1e-6


def log_probs(model, source, words, nudge):
    """Score words and EOS after adding `nudge` [S,E] to what the source embedding gives."""
    hook = model.source_embedding.register_forward_hook(lambda m, a, output: output + nudge)
    ids = torch.tensor([source])
    memory, state = model.start(ids, torch.ones_like(ids, dtype=torch.bool))
    hook.remove()
    logits = model.unroll(state, torch.tensor([[BOS, *words]]), memory)[1].logits[0]
    return logits.log_softmax(-1).gather(1, torch.tensor([[*words, EOS]]).T)[:, 0]


@torch.no_grad()
def by_small_steps(model, source, words):
    E = model.source_embedding(torch.tensor([source])).shape[-1]
    gradient = np.empty((len(words) + 1, len(source), E))
    for s, e in np.ndindex(len(source), E):
        nudge = torch.zeros(len(source), E, dtype=torch.float64)
        nudge[s, e] = STEP
        up, down = (log_probs(model, source, words, x) for x in (nudge, -nudge))
        gradient[:, s, e] = (up - down).numpy() / (2 * STEP)
    size = np.sqrt((gradient**2).sum(axis=-1))
    return size / size.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("name", PRESETS)
def test_influence_is_the_gradient_of_each_token(name):
    model = saved(name).model.double()
    source, words = [4, 7, 9, 5], [6, 4, 11, 5, 8, 4, 9, 6, 7, 12]
    assert len(words) > NUM_COPIES
    found = influence(model, source, words)
    np.testing.assert_allclose(found, by_small_steps(model, source, words), atol=1e-5)


def test_a_blank_line_has_no_influence():
    translator = Translator(saved())
    with pytest.raises(InputError) as caught:
        translator.influence(translator.translate(" "))
    assert str(caught.value) == "source is blank; it must contain text to have an influence."


@pytest.mark.parametrize("name", ["cho2014", "vaswani2017"])
def test_a_translation_has_its_influence(name):
    translator = Translator(saved(name))
    answer = translator.translate("abcdef", beam_size=3)
    moved = translator.influence(answer)
    assert moved.shape == (len(answer.tokens) + 1, 6)
    np.testing.assert_allclose(moved.sum(axis=-1), 1.0, rtol=1e-5)
    assert all(p.grad is None for p in translator.models[0].parameters())
