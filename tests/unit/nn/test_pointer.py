"""Models that copy: their equation, their loss, and that a file gives them back whole."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import presets as small
import small_models
from letters import array, assert_within
from oracle import pointer as oracle
from regard.inference.prepare import choose_step
from regard.models import PRESETS, build
from regard.nn.pointer_generator import PointerQuery
from regard.saved_model import SavedModel, build_for, load_model, save_model
from regard.special_tokens import BOS
from regard.translator import Translator

SHARED = {4: 5, 5: 4, 7: 9, 8: 10, 12: 18}
"""Words that both sides have: the source's ids, and the target's."""


def copying(name, seed=0, **options):
    """Build a preset that may copy, of random weights."""
    torch.manual_seed(seed)
    config = PRESETS[name](**small.SIZES[name], **options)
    config = replace(config, readout=replace(config.readout, pointer_generator=True))
    model = build(config, small.V_Y if config.tied_embeddings == "all" else small.V_X, small.V_Y)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    for source, target in SHARED.items():
        model.readout.pointer.target_ids[source] = target
    return model.double().eval()


@pytest.mark.parametrize("name", PRESETS)
def test_generation_and_copy_probabilities_add_up_by_the_equation(name):
    model = copying(name)
    sources, _, (source, mask, fed) = small.batch(model)
    pointer = model.readout.pointer
    seen = {}
    handle = pointer.register_forward_hook(lambda _, args, out: seen.update(args=args, out=out))
    found = array(model(source, mask, fed).logits)
    handle.remove()
    logits, inputs, (states, _) = seen["args"]
    shown = array(model.encode(source, mask).keys)
    written = array(logits.softmax(dim=-1))
    weights = {
        "W": array(pointer.score.W.weight),
        "w_g": array(pointer.gate.weight[0]),
        "b_g": array(pointer.gate.bias)[0],
    }
    for b, x in enumerate(sources):
        words = [SHARED.get(int(word)) for word in x]
        for t in range(fed.shape[1]):
            step = written[b, t], array(states)[b, t], shown[b], words, array(inputs)[b, t]
            p = oracle.mixed(*step, weights)
            assert_within(np.exp(found[b, t]), p, 1e-12)


@pytest.mark.parametrize("name", PRESETS)
def test_steps_of_a_pointer_generator_equal_the_whole_line(name):
    model = copying(name)
    _, _, (source, mask, fed) = small.batch(model)
    whole = model(source, mask, fed).logits
    memory, state = model.start(source, mask)
    for t in range(fed.shape[1]):
        state, scored = model.step(state, fed[:, t], memory)
        assert_within(array(scored.logits), array(whole[:, t]), 1e-12)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_pointer_generator_loss_is_that_of_its_log_probs(name, smoothing):
    model = copying(name)
    _, _, given = small.batch(model)
    target = torch.randint(small.V_Y, given[2].shape, generator=torch.Generator().manual_seed(0))
    visible = torch.arange(target.shape[1]) < torch.tensor([4, 6, 1])[:, None]
    log_p = model(*given).logits.log_softmax(dim=-1)
    right = -log_p.gather(-1, target[..., None])[..., 0]
    each = (1 - smoothing) * right - smoothing * log_p.mean(dim=-1)
    found = model.loss(*given, target, visible, smoothing)
    assert abs(found - each[visible].sum()) <= 1e-10
    slopes = torch.autograd.grad(found, list(model.readout.pointer.parameters()))
    assert all(slope.abs().sum() > 0 for slope in slopes)


@pytest.mark.parametrize("width", [0, 3], ids=["without any word", "of words of its own"])
def test_a_source_without_copyable_tokens_uses_the_vocabulary_alone(width):
    model = copying("bahdanau2015")
    source = torch.full((2, width), 6)
    given = source, torch.ones_like(source, dtype=torch.bool), torch.full((2, 1), BOS)
    p = model(*given).logits.exp()
    model.readout.pointer = None
    written = model(*given).logits.softmax(dim=-1)
    assert_within(array(p), array(written), 1e-12)


def test_every_gradient_is_that_of_finite_differences():
    model = copying("bahdanau2015")
    pointer = model.readout.pointer
    _, _, (source, mask, _) = small.batch(model)
    encoded = model.encode(source, mask)
    memory = model.decoder.start(encoded)[0]
    torch.manual_seed(1)
    query, x, logits = (
        torch.randn(3, 2, size, dtype=torch.float64, requires_grad=True)
        for size in (small.D, pointer.gate.in_features, small.V_Y)
    )
    keys = encoded.keys.detach().requires_grad_()

    def spoken(query, x, logits, keys, *_):
        seen = pointer.start(memory, replace(encoded, keys=keys), source)
        return pointer(logits, x, PointerQuery(query, seen))

    assert torch.autograd.gradcheck(spoken, (query, x, logits, keys, *pointer.parameters()))


def test_copies_in_half_precision_are_summed_in_single():
    model = copying("bahdanau2015").float()
    _, _, given = small.batch(model)
    with torch.autocast("cpu", torch.bfloat16):
        p = model(*given).logits.exp()
    assert p.dtype == torch.float32
    assert (p.sum(dim=-1) - 1).abs().max() < 1e-5


def test_a_copying_readout_requires_a_pointer_query():
    model = copying("bahdanau2015")
    with pytest.raises(ValueError, match=r"has a pointer-generator\. Pass a PointerQuery\."):
        model.readout(torch.zeros(1, model.readout.pointer.gate.in_features).double())


def test_a_model_with_a_pointer_has_no_fused_step():
    model = copying("bahdanau2015")
    assert choose_step(model)[0] is None
    model.readout.pointer = None
    assert choose_step(model)[0] is not None


def test_a_saved_pointer_generator_copies_the_same(tmp_path):
    sides = small_models.side("abcdefgh"), small_models.side("hgfedcxy")
    plain = small_models.saved(sides=sides)
    readout = replace(plain.settings.model.readout, pointer_generator=True)
    settings = replace(plain.settings, model=replace(plain.settings.model, readout=readout))
    torch.manual_seed(3)
    model = build_for(settings.model, *sides).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    kept = SavedModel(model, settings, *sides, {})
    save_model(tmp_path / "copies.regard", kept)
    again = load_model(tmp_path / "copies.regard")
    assert again.model.readout.pointer.target_ids.tolist() == sides[0].vocabulary.ids_in(
        sides[1].vocabulary
    )
    lines = ["abcdef", "hhh", "gc", ""]
    first, second = (Translator(one).translate(lines) for one in (kept, again))
    assert [(a.text, a.score) for a in first] == [(a.text, a.score) for a in second]
