"""Every layer of `nn` under the one contract."""

from functools import partial

import pytest
import torch

import layer_contract as contract
from layer_contract import SIZES, Case
from regard.nn.attention import (
    Attention,
    LocalWindow,
    ManyReads,
    MultiHeadAttention,
    PastAttention,
    SelfAttention,
    weighted_values,
)
from regard.nn.cells import ElmanCell, GRUCell, HiddenState, LSTMCell
from regard.nn.positions import (
    LearnedPositions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
)
from regard.nn.readouts import MaxoutLayer, TanhLayer
from regard.nn.recurrent_stack import RecurrentStack
from regard.nn.scores import (
    AdditiveScore,
    BilinearScore,
    ConcatScore,
    DotScore,
    GaussianScore,
    LocationScore,
    ScaledDotScore,
)
from regard.nn.transformer_sublayers import FeedForward, Residual

D, M, A, N, I, S = (SIZES[letter] for letter in "DMANIS")  # noqa: E741
LONGEST = S + contract.PADDING

SCORES = {
    "additive": (partial(AdditiveScore, D, M, A), "M"),
    "concat": (partial(ConcatScore, D, M, A), "M"),
    "dot": (DotScore, "D"),
    "scaled dot": (ScaledDotScore, "D"),
    "bilinear": (partial(BilinearScore, D, M), "M"),
    "gaussian": (partial(GaussianScore, 0.3), "D"),
    "gaussian, learned": (partial(GaussianScore, 0.3, learned=True), "D"),
    "location": (partial(LocationScore, D, LONGEST), "M"),
}


def score(layer, x):
    return {"scores": layer(x["query"], layer.prepare(x["keys"]))}


def soft(layer, x):
    memory = layer.remember(x["keys"], x["keys"], x["mask"])
    context, weights = layer(x["query"], memory)
    return {"context": context, "weights": weights}


def key_value(layer, x):
    memory = layer.remember(x["keys"], x["values"], x["mask"])
    context, weights = layer(x["query"], memory)
    return {
        "context": context,
        "weights": weights,
        "weighted": weighted_values(weights, memory),
    }


def fused(layer, x):
    memory = layer.remember(x["keys"], x["values"], x["mask"])
    return {"context": layer(x["query"], memory, need_weights=False)[0]}


def covered(layer, x):
    memory = layer.remember(x["keys"], x["values"], x["mask"])
    position = torch.arange(x["query"].shape[1]).expand(x["query"].shape[:2])
    context, weights = layer(x["query"], memory, past=PastAttention(position, x["coverage"]))
    return {"context": context, "weights": weights}


def many_reads(layer, x):
    memory = layer.attention.remember(x["keys"], x["values"], x["mask"])
    contexts, weights = layer(memory)
    return {"contexts": contexts, "weights": weights}


def over_itself(layer, x):
    memory = layer.remember(x["x"], x["x"], x["mask"])
    outputs, weights = layer(x["x"], memory)
    # what a hidden position asks is nobody's business
    hidden = ~x["mask"][:, :, None]
    return {
        "outputs": outputs.masked_fill(hidden, 0),
        "weights": weights.masked_fill(hidden[:, None], 0),
    }


def self_attention(layer, x):
    outputs, weights = layer(x["x"], x["mask"])
    hidden = ~x["mask"][:, :, None]
    return {"outputs": outputs.masked_fill(hidden, 0), "weights": weights.masked_fill(hidden, 0)}


def step(layer, x):
    c = x.get("c")
    moved = layer(x["x"], HiddenState(x["h"], c))
    return {"h": moved.h} if c is None else {"h": moved.h, "c": moved.c}


def scan(layer, x):
    c = x.get("c")
    states, last = layer.scan(x["x"], HiddenState(x["h"], c), x["mask"])
    return {"states": states, "h": last.h} | ({} if c is None else {"c": last.c})


def stack(layer, x):
    start = tuple(cell.state_with_output(x["h"]) for cell in layer.layers)
    states, last = layer.scan(x["x"], start, x["mask"])
    return {"states": states, "h": last[-1].h}


def each_position(layer, x):
    return {"outputs": layer(x["x"])}


SELF = {"x": "B S D", "mask": "B S"}
HEADS = {"D": 22, "H": 2}
HEADS_OUT = {"outputs": "B S D", "weights": "B H S S"}
CELLS = {
    "elman": (ElmanCell, False),
    "gru before": (GRUCell, False),
    "gru after": (partial(GRUCell, reset_after=True), False),
    "lstm": (LSTMCell, True),
    "lstm without biases": (partial(LSTMCell, bias=False), True),
}


def cases():
    for name, (make, key) in SCORES.items():
        inputs = {"query": "B T D", "keys": f"B S {key}"}
        yield Case(f"{name} score", make, score, inputs, {"scores": "B T S"})
        yield Case(
            f"attention by {name} score",
            lambda make=make: Attention(make()),
            key_value,
            {**inputs, "values": "B S N", "mask": "B S"},
            {"context": "B T N", "weights": "B T S", "weighted": "B T S N"},
            zero_if_hidden=("context", "weights", "weighted"),
        )
    yield from attention_cases()
    yield from self_attention_cases()
    for name, (make, has_c) in CELLS.items():
        c = {"c": "B D"} if has_c else {}
        inputs = {"x": "B I", "h": "B D"} | c
        yield Case(name, partial(make, I, D), step, inputs, {"h": "B D"} | c)
        inputs = {"x": "B S I", "h": "B D", "mask": "B S"} | c
        outputs = {"states": "B S D", "h": "B D"} | c
        yield Case(
            f"{name} along a line",
            partial(make, I, D),
            scan,
            inputs,
            outputs,
            zero_if_hidden=("states",),
        )
    for name, options in {
        "stack": {},
        "stack with residuals": {"residual": True},
        "stack in two directions": {"bidirectional": True},
        "stack in two directions with residuals": {"bidirectional": True, "residual": True},
    }.items():
        width = {"O": 2 * D if "bidirectional" in options else D}
        yield Case(
            name,
            lambda options=options: RecurrentStack(lambda size: LSTMCell(size, D), I, 3, **options),
            stack,
            {"x": "B S I", "h": "B D", "mask": "B S"},
            {"states": "B S O", "h": "B O"},
            width,
        )
    for name, make in {
        "feed-forward": partial(FeedForward, D, A),
        "tanh layer": partial(TanhLayer, D, N),
        "maxout layer": partial(MaxoutLayer, D, N),
    }.items():
        width = "D" if name == "feed-forward" else "N"
        yield Case(name, make, each_position, {"x": "B S D"}, {"outputs": f"B S {width}"})
    for pre_norm in (False, True):
        yield Case(
            f"residual, {'pre' if pre_norm else 'post'}-norm",
            partial(Residual, D, pre_norm=pre_norm),
            lambda layer, x: {"outputs": layer(x["x"], torch.sin)},
            {"x": "B S D"},
            {"outputs": "B S D"},
        )


def attention_cases():
    attends = {"query": "B T D", "keys": "B S D", "values": "B S N", "mask": "B S"}
    outputs = {"context": "B T N", "weights": "B T S"}
    yield Case(
        "soft attention",
        lambda: Attention(AdditiveScore(D, M, A)),
        soft,
        {"query": "B T D", "keys": "B S M", "mask": "B S"},
        {"context": "B T M", "weights": "B T S"},
        zero_if_hidden=("context", "weights"),
    )
    yield Case(
        "fused attention",
        lambda: Attention(ScaledDotScore()),
        fused,
        attends,
        {"context": "B T N"},
        zero_if_hidden=("context",),
    )
    yield Case(
        "attention with coverage",
        lambda: Attention(AdditiveScore(D, D, A, coverage=True)),
        covered,
        {**attends, "coverage": "B T S"},
        outputs,
        zero_if_hidden=("context", "weights"),
    )
    for name, window in {
        "local-m window": lambda: LocalWindow(2),
        "local-p window": lambda: LocalWindow(2, D),
    }.items():
        yield Case(
            name,
            lambda window=window: Attention(DotScore(), window=window()),
            soft,
            {"query": "B T D", "keys": "B S D", "mask": "B S"},
            {"context": "B T D", "weights": "B T S"},
            zero_if_hidden=("context", "weights"),
        )
    yield Case(
        "many reads",
        lambda: ManyReads(Attention(AdditiveScore(D, M, A)), SIZES["reads"], D),
        many_reads,
        {"keys": "B S M", "values": "B S N", "mask": "B S"},
        {"contexts": "B C", "weights": "B reads S"},
        {"C": SIZES["reads"] * N},
        zero_if_hidden=("contexts", "weights"),
    )


def self_attention_cases():
    hidden = ("outputs", "weights")
    for projected in (False, True):
        yield Case(
            f"self-attention with{'' if projected else 'out'} projections",
            lambda projected=projected: SelfAttention(
                Attention(ScaledDotScore()), D, (A, A, N) if projected else None
            ),
            self_attention,
            SELF,
            {"outputs": "B S N" if projected else "B S D", "weights": "B S S"},
            zero_if_hidden=hidden,
        )
    K = HEADS["D"] // HEADS["H"]
    for name, (make, _) in {
        **SCORES,
        "additive": (partial(AdditiveScore, K, K, A), ""),
        "concat": (partial(ConcatScore, K, K, A), ""),
        "bilinear": (partial(BilinearScore, K, K), ""),
        "location": (partial(LocationScore, K, LONGEST), ""),
    }.items():
        yield Case(
            f"two heads by {name} score",
            lambda make=make: MultiHeadAttention((22, 22, 22), 22, 2, score=make()),
            over_itself,
            SELF,
            HEADS_OUT,
            HEADS,
            zero_if_hidden=hidden,
            # a location score looks at no key
            idle=("W_k.weight",) if name == "location" else (),
        )
    for name, make in {
        "rotary": lambda: RotaryPositions(14),
        "relative": lambda: RelativePositions(14, 2),
    }.items():
        yield Case(
            f"two heads with {name} positions",
            lambda make=make: MultiHeadAttention((28, 28, 28), 28, 2, positions=make()),
            over_itself,
            SELF,
            HEADS_OUT,
            {"D": 28, "H": 2},
            zero_if_hidden=hidden,
        )


CASES = {case.name: case for case in cases()}
by_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
masked = [case for case in CASES.values() if "mask" in case.inputs]


@by_case
def test_shapes_agree_with_their_letters(case):
    contract.check_shapes(case)


@by_case
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_the_output_has_the_dtype_of_the_input(case, dtype):
    contract.check_dtype(case, dtype)


@by_case
def test_a_saved_layer_computes_the_same(case):
    contract.check_state_dict(case)


@by_case
def test_a_row_does_not_depend_on_its_neighbours(case):
    contract.check_neighbours(case)


@by_case
def test_padding_changes_nothing(case):
    contract.check_padding(case)


@pytest.mark.parametrize("case", masked, ids=[case.name for case in masked])
def test_a_row_with_nothing_visible_is_zero_not_nan(case):
    contract.check_hidden_rows(case)


@by_case
def test_gradients_are_finite_and_reach_every_parameter(case):
    contract.check_gradients(case)


@by_case
def test_gradients_agree_with_finite_differences(case):
    contract.check_gradcheck(case, every=False)


@pytest.mark.slow
def test_each_gradient_agrees_with_finite_differences(record_property):
    numbers = sum(contract.check_gradcheck(case, every=True) for case in CASES.values())
    record_property("layers", len(CASES))
    record_property("numbers moved", numbers)


def test_every_letter_has_its_own_prime_size():
    sizes = list(SIZES.values())
    assert len(set(sizes)) == len(sizes)
    assert all(n > 1 and all(n % d for d in range(2, n)) for n in sizes)


@pytest.mark.parametrize("make", [SinusoidalPositions, LearnedPositions])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_added_positions_satisfy_the_layer_contract_too(make, dtype):
    layer, positions = make(D, LONGEST).to(dtype), torch.arange(S).expand(2, S)
    rows = layer(positions)
    assert (rows.shape, rows.dtype) == ((2, S, D), dtype)
    assert rows.isfinite().all()
    assert torch.equal(rows[0], rows[1])
    again = make(D, LONGEST).to(dtype)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(positions), rows)
    if make is LearnedPositions:
        rows.sum().backward()
        used = layer.table.grad.any(dim=-1)
        assert used[:S].all()
        assert not used[S:].any()
        if dtype == torch.float64:
            table = torch.randn(S, D, dtype=dtype, requires_grad=True)
            run = partial(torch.func.functional_call, layer)
            assert torch.autograd.gradcheck(lambda t: run({"table": t}, (positions,)), table)
