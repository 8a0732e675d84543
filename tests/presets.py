"""Small models of each preset, their oracles, and the letters that map parameters between them."""

import numpy as np
import torch
from torch import nn

import letters
from letters import array
from oracle import bahdanau2015, cho2014, gehring2017, luong2015, sutskever2014, vaswani2017
from regard.models import build, presets
from regard.special_tokens import BOS, EOS

# vocabularies of source and target; all widths differ: a swapped axis cannot pass
V_X, V_Y = 17, 19
E, D, A, R = 5, 7, 11, 3

SIZES = {
    "cho2014": {"embedding_size": E, "hidden_size": D, "readout_size": R},
    "sutskever2014": {"embedding_size": E, "hidden_size": D, "num_layers": 3},
    "bahdanau2015": {"embedding_size": E, "hidden_size": D, "align_size": A, "readout_size": R},
    "luong2015": {"embedding_size": E, "hidden_size": D, "num_layers": 2},
    "gehring2017": {"embedding_size": D, "hidden_size": D, "num_layers": 3, "max_length": 31},
    "vaswani2017": {
        "model_size": 14,
        "feed_forward_size": 11,
        "num_heads": 2,
        "num_layers": 3,
        "max_length": 31,
    },
}


def model(name, seed=0, dtype=torch.float64, **options):
    """Build a preset at small sizes with random weights, biases and norms too."""
    torch.manual_seed(seed)
    config = presets.PRESETS[name](**{**SIZES[name], **options})
    built = build(config, V_Y if config.tied_embeddings == "all" else V_X, V_Y).to(dtype).eval()
    for parameter in built.parameters():
        nn.init.normal_(parameter, std=0.4)
    return built


def batch(model, seed=0, lengths=((7, 4), (2, 6), (5, 1)), padding=0):
    """Sources, their mask, and the words fed, all of unequal lengths; targets end in EOS."""
    rng = np.random.default_rng(seed)
    sources = [list(rng.integers(4, V_X, n)) for n, _ in lengths]
    targets = [[*rng.integers(4, V_Y, n - 1), EOS] for _, n in lengths]
    S, T = max(n for n, _ in lengths) + padding, max(n for _, n in lengths)
    source = torch.zeros(len(lengths), S, dtype=torch.long)
    fed = torch.zeros(len(lengths), T, dtype=torch.long)
    for b, (x, y) in enumerate(zip(sources, targets, strict=True)):
        source[b, : len(x)] = torch.tensor(x)
        fed[b, : len(y)] = torch.tensor([BOS, *y[:-1]])
    mask = torch.arange(S) < torch.tensor([n for n, _ in lengths])[:, None]
    return sources, targets, (source, mask, fed)


def embeddings(model):
    return {
        "E_x": array(model.source_embedding.weight),
        "E_y": array(model.target_embedding.weight),
    }


def by_oracle(name, model, source, target, **options):
    """Return the oracle's log-probabilities [T,V], and its weights as [T,L,H,S] or None."""
    return ORACLES[name](model, source, target, **options)


def blocks(matrix, sizes):
    """Cut a matrix into blocks of columns."""
    return np.split(array(matrix), np.cumsum(sizes)[:-1], axis=1)


def cho(model, source, target):
    cell, layer = model.decoder.cell, model.readout.layer
    O_h, O_y, O_c = blocks(layer.W.weight, [D, E, D])
    C = letters.split(model.decoder.C.weight, "rzn", "Cd")
    C["Cd_z"] = -C["Cd_z"]
    p = {
        **embeddings(model),
        **letters.cho_gru(model.encoder.stack.layers[0]),
        "V": array(model.summary.V.weight),
        "Vd": array(model.decoder.initial_state.W_s[0].weight),
        **{f"{name[0]}d_{name[2]}": part for name, part in letters.cho_gru(cell).items()},
        **C,
        **{"O_h": O_h, "O_y": O_y, "O_c": O_c, "b_o": array(layer.W.bias)},
        "G": array(model.readout.weight),
    }
    return cho2014.forward(source, target, p, bos=BOS)


def sutskever(model, source, target):
    p = {
        **embeddings(model),
        "encoder": [letters.lstm(cell) for cell in model.encoder.stack.layers],
        "decoder": [letters.lstm(cell) for cell in model.decoder.stack.layers],
        "W_o": array(model.readout.weight),
    }
    return sutskever2014.forward(source, target, p, bos=BOS)


def bahdanau(model, source, target, deep=False):
    """Also with coverage, where the score has it."""
    decoder, layer = model.decoder, model.readout.layer
    stack, score = model.encoder.stack, decoder.attention.score
    first, *above = decoder.stack.layers
    W, C = blocks(first.W.weight, [E, 2 * D])
    U_o, V_o, C_o = blocks(layer.W.weight, [D, E, 2 * D])
    W_s = [array(linear.weight) for linear in decoder.initial_state.W_s]
    p = {
        **embeddings(model),
        "forward": letters.gru(stack.cells[0]),
        "backward": letters.gru(stack.backward_cells[0]),
        "W_s": W_s if deep else W_s[0],
        "W_a": array(score.W_q.weight),
        "U_a": array(score.W_k.weight),
        "v_a": array(score.v),
        **({} if score.w_c is None else {"w_c": array(score.w_c)}),
        **letters.gru(first),
        **{f"W_{n}": part for n, part in zip("rzn", np.split(W, 3), strict=True)},
        **{f"C_{n}": part for n, part in zip("rzn", np.split(C, 3), strict=True)},
        "layers": [letters.gru(cell) for cell in above],
        **{"U_o": U_o, "V_o": V_o, "C_o": C_o, "b_o": array(layer.W.bias)},
        "W_o": array(model.readout.weight),
    }
    run = bahdanau2015.deep if deep else bahdanau2015.forward
    log_probs, weights = run(source, target, p, bos=BOS)
    return log_probs, weights[:, None, None]


def luong(model, source, target, score="bilinear", window="global", input_feeding=True, delta=2):
    decoder, attention = model.decoder, model.decoder.attention
    p = {
        **embeddings(model),
        "encoder": [letters.lstm(cell) for cell in model.encoder.stack.layers],
        "decoder": [letters.lstm(cell) for cell in decoder.stack.layers],
        "W_c": array(decoder.W_c.weight),
        "b_c": array(decoder.W_c.bias),
        "W_s": array(model.readout.weight),
    }
    if score != "dot":
        p["W_a"] = array(attention.score.W.weight)
    if score == "concat":
        p["v_a"] = array(attention.score.v)
    if window == "local_p":
        p |= {"W_p": array(attention.window.W_p.weight), "v_p": array(attention.window.v_p)}
    log_probs, weights = luong2015.forward(
        source,
        target,
        p,
        bos=BOS,
        score=score,
        window=None if window == "global" else window.replace("_", "-"),
        delta=delta,
        input_feeding=input_feeding,
    )
    return log_probs, weights[:, None, None]


def convolution(block):
    # the oracle counts output channel, offset, input channel
    return {
        "K": array(block.convolution.weight).transpose(0, 2, 1),
        "b": array(block.convolution.bias),
    }


def gehring(model, source, target):
    decoder = model.decoder
    maps = {
        "A_x": model.encoder.enter,
        "B_x": model.encoder.leave,
        "A_y": decoder.enter,
        "A_c": decoder.fit_values,
        "B_y": decoder.leave,
    }
    p = {
        **{name: array(layer.weight) for name, layer in maps.items() if list(layer.parameters())},
        **embeddings(model),
        "P_x": array(model.source_embedding.positions.table),
        "P_y": array(model.target_embedding.positions.table),
        "encoder": [convolution(block) for block in model.encoder.blocks],
        "decoder": [
            {**convolution(block), "W_d": array(W_d.weight), "b_d": array(W_d.bias)}
            for block, W_d in zip(decoder.blocks, decoder.W_d, strict=True)
        ],
        "W_o": array(model.readout.weight),
        "b_o": array(model.readout.bias),
    }
    log_probs, weights = gehring2017.forward(source, target, p, bos=BOS)
    return log_probs, weights.transpose(1, 0, 2)[:, :, None]


def norm(layer):
    return array(layer.weight), array(layer.bias)


def feed_forward(layer):
    return {
        "W_1": array(layer.W_1.weight),
        "b_1": array(layer.W_1.bias),
        "W_2": array(layer.W_2.weight),
        "b_2": array(layer.W_2.bias),
    }


def vaswani(model, source, target, pre_norm=False):
    p = {
        "E": array(model.source_embedding.weight),
        "encoder": [
            {
                "self": letters.heads(block.self_attention),
                "norm_self": norm(block.self_attention_residual.norm),
                **feed_forward(block.feed_forward),
                "norm_ff": norm(block.feed_forward_residual.norm),
            }
            for block in model.encoder.blocks
        ],
        "decoder": [
            {
                "self": letters.heads(block.self_attention),
                "norm_self": norm(block.self_attention_residual.norm),
                "cross": letters.heads(block.cross_attention),
                "norm_cross": norm(block.cross_attention_residual.norm),
                **feed_forward(block.feed_forward),
                "norm_ff": norm(block.feed_forward_residual.norm),
            }
            for block in model.decoder.blocks
        ],
    }
    if pre_norm:
        p |= {"encoder_norm": norm(model.encoder.norm), "decoder_norm": norm(model.decoder.norm)}
    log_probs, weights = vaswani2017.forward(source, target, p, bos=BOS, pre_norm=pre_norm)
    return log_probs, weights.transpose(2, 0, 1, 3)


ORACLES = {
    "cho2014": cho,
    "sutskever2014": sutskever,
    "bahdanau2015": bahdanau,
    "luong2015": luong,
    "gehring2017": gehring,
    "vaswani2017": vaswani,
}
