"""What the documents say is so: their examples run, their files exist, their numbers are right."""

import ast
import re
from pathlib import Path

import pytest
import torch

from regard.decoders.bahdanau import BahdanauDecoder
from regard.decoders.initial_state import CopiedInitialState
from regard.nn.attention import Attention
from regard.nn.cells import GRUCell, HiddenState
from regard.nn.encoder_output import EncoderOutput
from regard.nn.readouts import MaxoutLayer
from regard.nn.recurrent_stack import RecurrentStack
from regard.nn.scores import AdditiveScore
from registry import restored

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BY_NAME = {str(path.relative_to(ROOT)): path.read_text() for path in DOCUMENTS}


def python_blocks():
    for name, text in BY_NAME.items():
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)):
            yield pytest.param(code, id=f"{name} {number + 1}")


@pytest.mark.parametrize("code", list(python_blocks()))
def test_every_documented_example_runs_and_prints_the_documented_output(code, capsys):
    with restored():
        exec(compile(code, "example", "exec"), {})
    said = re.findall(r"^# (.*)$", code, flags=re.MULTILINE)
    assert capsys.readouterr().out.split() == " ".join(said).split()


def missing(text):
    """Return every file, test and definition that a text names and that is not there."""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        if not (ROOT / path).exists() or name not in definitions(ROOT / path):
            yield f"{path}::{name}"
    for path, name in re.findall(r"`(src/[\w/]+\.py)` `(\w+)`", text):
        if not (ROOT / path).exists() or name not in definitions(ROOT / path):
            yield f"{path} {name}"
    for path in re.findall(r"\]\(([\w./-]+)\)", text):
        if not any((folder / path).exists() for folder in (ROOT, ROOT / "docs")):
            yield path


def definitions(path):
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_documented_file_test_and_picture_exists(name):
    assert list(missing(BY_NAME[name])) == []


def test_a_missing_reference_is_noticed():
    assert list(missing("`tests/test_docs.py::test_nothing`")) == [
        "tests/test_docs.py::test_nothing"
    ]
    assert list(missing("`src/regard/errors.py` `Nothing`")) == ["src/regard/errors.py Nothing"]
    assert list(missing("[x](nowhere.md)")) == ["nowhere.md"]


def test_every_documented_make_target_exists():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for name, text in BY_NAME.items():
        for target in re.findall(r"`make (\w+)|^make (\w+)", text, flags=re.MULTILINE):
            assert set(target) - {""} <= targets, name


def test_every_public_mechanism_has_its_row():
    text = BY_NAME["docs/attention.md"]
    for module in ("scores", "attention", "positions", "cells"):
        path = f"src/regard/nn/{module}.py"
        classes = {name for name in definitions(ROOT / path) if name[0].isupper()}
        documented = set(re.findall(rf"`{path}` `(\w+)`", text))
        helpers = {"ScoreFunction", "Cell", "HiddenState", "Memory", "PastAttention"}
        assert classes - helpers <= documented, classes - helpers - documented


def worked_example():
    """Read the numbers of the table "by hand"."""
    text = BY_NAME["docs/attention.md"].split("by hand")[1].split("Had the gate")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([-\d., ]+) \|$", text, flags=re.MULTILINE)
    return {name: [float(value) for value in values.split(",")] for name, values in rows}


def by_hand_decoder():
    stack = RecurrentStack(lambda size: GRUCell(size, 2, bias=False), 2, 1)
    attention = Attention(AdditiveScore(2, 1, 1))
    decoder = BahdanauDecoder(stack, attention, CopiedInitialState(), context_size=1).double()
    cell, score = stack.layers[0], attention.score
    ln3 = torch.tensor(3.0, dtype=torch.float64).log()
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.zero_()
        score.W_q.weight.copy_(torch.tensor([[1.0, 0.0]]))
        score.W_k.weight.fill_(1.0)
        score.v.fill_(1.0)
        cell.W.weight[1, 0] = ln3  # r's second unit sees the word
        cell.W.weight[4:, 1] = 1.0  # the candidate sees the context
        cell.U.weight[4:] = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    return decoder


def test_the_worked_example_is_what_the_decoder_computes():
    told = worked_example()
    assert len(told) == 11
    h = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)
    s = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    y = torch.ones(1, 1, dtype=torch.float64)
    mask = torch.ones(1, 2, dtype=torch.bool)
    decoder = by_hand_decoder()
    memory, state = decoder.start(EncoderOutput(h, h, mask, h[:, 1], (HiddenState(s),)))
    state, step = decoder.step(state, y, memory)

    maxout = MaxoutLayer(4, 2, bias=False).double()
    maxout.W.weight.data = torch.eye(4, dtype=torch.float64)
    t = maxout(torch.cat([step.old_state[0], y[0] * 0, step.context[0]]))
    scores = decoder.attention.score(s[:, None], memory.keys)[0, 0]
    computed = {
        "e_11": scores[:1],
        "e_12": scores[1:],
        "α_11": step.weights[0, 0, 0, :1],
        "α_12": step.weights[0, 0, 0, 1:],
        "c_1": step.context[0],
        "s_1": state.output[0],
        # s_1 = ½ s_0 + ½ n_1, since z_1 = ½
        "n_1": 2 * state.output[0] - s[0],
        "t_1": t,
        "p(first word)": t.softmax(dim=-1)[:1],
    }
    for name, values in computed.items():
        expected = torch.tensor(told[name], dtype=torch.float64)
        assert (values - expected).abs().max() <= 0.6e-4, name
    assert told["r_1"] == [0.5, 0.75]
    assert told["z_1"] == [0.5, 0.5]
