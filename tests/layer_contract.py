"""The contract of every layer, whatever it computes: one harness for all of them.

A case says how to build a layer and which tensors are its inputs and outputs, each with its axes as
a string of shape letters. The harness then checks shapes, types, saving, neighbours, padding,
rows with nothing visible, and gradients.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

# all different, all prime: a swapped axis cannot pass
SIZES = {"B": 3, "T": 5, "S": 7, "D": 11, "M": 13, "N": 17, "A": 19, "I": 23, "reads": 2}
LENGTHS = (7, 2, 4)
PADDING = 6

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Case:
    """A layer under contract; `mask` among the inputs hides positions along S.

    `idle` names parameters without effect by the layer's definition.
    """

    name: str
    make: Callable[[], nn.Module]
    run: Callable[[nn.Module, Tensors], Tensors]
    inputs: dict[str, str]
    outputs: dict[str, str]
    sizes: dict[str, int] = field(default_factory=dict)
    zero_if_hidden: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()

    def size(self, letter: str) -> int:
        return {**SIZES, **self.sizes}[letter]

    def tensors(self, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensors:
        generator = torch.Generator().manual_seed(seed)
        tensors = {}
        for name, axes in self.inputs.items():
            shape = [self.size(letter) for letter in axes.split()]
            if name == "mask":
                lengths = torch.tensor(LENGTHS)[: shape[0], None]
                tensors[name] = torch.arange(shape[1]) < lengths
            else:
                x = torch.randn(shape, generator=generator, dtype=torch.float64)
                tensors[name] = x.to(dtype)
        return tensors

    def layer(self, dtype: torch.dtype = torch.float64, seed: int = 1) -> nn.Module:
        torch.manual_seed(seed)
        layer = self.make()
        for parameter in layer.parameters():
            nn.init.normal_(parameter, std=0.5)
        return layer.to(dtype).eval()


def check_shapes(case: Case) -> None:
    outputs = case.run(case.layer(), case.tensors())
    assert outputs.keys() == case.outputs.keys()
    for name, axes in case.outputs.items():
        expected = [case.size(letter) for letter in axes.split()]
        assert list(outputs[name].shape) == expected, name


def check_dtype(case: Case, dtype: torch.dtype) -> None:
    for name, output in case.run(case.layer(dtype), case.tensors(dtype)).items():
        assert output.dtype == dtype, name
        assert output.isfinite().all(), name


def check_state_dict(case: Case) -> None:
    saved, loaded = case.layer(seed=1), case.layer(seed=2)
    before, other = (case.run(layer, case.tensors()) for layer in (saved, loaded))
    if next(saved.parameters(), None) is not None:
        assert any(not torch.equal(before[name], other[name]) for name in before)
    loaded.load_state_dict(saved.state_dict())
    after = case.run(loaded, case.tensors())
    for name in before:
        assert torch.equal(before[name], after[name]), name


def check_neighbours(case: Case) -> None:
    layer, tensors = case.layer(), case.tensors()
    together = case.run(layer, tensors)
    for b in range(case.size("B")):
        alone = case.run(layer, {name: part[b : b + 1] for name, part in tensors.items()})
        for name, output in alone.items():
            assert (output - together[name][b : b + 1]).abs().max() <= 1e-12, name


def check_padding(case: Case) -> None:
    """What stands behind a line's end must not matter, however wild it is."""
    layer, tensors = case.layer(), case.tensors()
    padded = {name: _pad(part, case.inputs[name].split()) for name, part in tensors.items()}
    before, after = case.run(layer, tensors), case.run(layer, padded)
    for name, axes in case.outputs.items():
        output = after[name]
        for axis, letter in enumerate(axes.split()):
            if letter == "S":
                output = output.narrow(axis, 0, case.size("S"))
        assert (output - before[name]).abs().max() <= 1e-12, name


def _pad(part: Tensor, axes: list[str]) -> Tensor:
    if "S" not in axes:
        return part
    axis = axes.index("S")
    shape = [PADDING if i == axis else size for i, size in enumerate(part.shape)]
    tail = torch.zeros(shape, dtype=torch.bool)
    if part.dtype != torch.bool:
        tail = 1e3 * torch.randn(shape, dtype=part.dtype)
    return torch.cat([part, tail], dim=axis)


def check_hidden_rows(case: Case) -> None:
    tensors = case.tensors()
    tensors["mask"] = tensors["mask"].clone()
    tensors["mask"][0] = False
    outputs = case.run(case.layer(), tensors)
    for name, output in outputs.items():
        assert output.isfinite().all(), name
    for name in case.zero_if_hidden:
        assert not outputs[name][0].any(), name
        assert outputs[name][1].any(), name


def check_gradients(case: Case) -> None:
    """Finite everywhere, also where nothing is visible, and zero only for idle parameters."""
    tensors = case.tensors()
    if "mask" in tensors:
        tensors["mask"] = tensors["mask"].clone()
        tensors["mask"][0] = False
    floating = {n: t.requires_grad_() for n, t in tensors.items() if t.is_floating_point()}
    layer = case.layer()
    outputs = case.run(layer, tensors)
    torch.stack([output.square().sum() for output in outputs.values()]).sum().backward()
    for name, tensor in [*floating.items(), *layer.named_parameters()]:
        if tensor.grad is not None:
            assert tensor.grad.isfinite().all(), name
    for name, parameter in layer.named_parameters():
        moves = parameter.grad is not None and bool(parameter.grad.any())
        assert moves == (name not in case.idle), name


def check_gradcheck(case: Case, every: bool) -> int:
    """Compare with finite differences; return how many numbers were moved.

    Each number is moved by itself, unless there are many and not `every` one is asked for: then
    all are moved together along random directions.
    """
    small = replace(case, sizes={**case.sizes, "B": 2, "T": 3, "S": 5})
    layer, tensors = small.layer(), small.tensors()
    names = [name for name, part in tensors.items() if part.is_floating_point()]
    parameters = list(layer.parameters())

    def function(*values: Tensor) -> tuple[Tensor, ...]:
        return tuple(
            case.run(layer, {**tensors, **dict(zip(names, values, strict=False))}).values()
        )

    values = [tensors[name].requires_grad_() for name in names]
    given = (*values, *parameters)
    count = sum(value.numel() for value in given)
    assert torch.autograd.gradcheck(function, given, fast_mode=count > 1_900 and not every)
    return count
