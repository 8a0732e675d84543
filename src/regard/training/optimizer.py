"""The optimizer, and its state as named tensors, which can be saved without pickle."""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from regard import kernels
from regard.config.settings import TrainConfig


def make_optimizer(model: nn.Module, config: TrainConfig) -> Optimizer:
    """Make the optimizer that the settings ask for."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    decay = config.weight_decay
    if config.optimizer == "adadelta":
        # Bahdanau et al. 2015, B.2
        return kernels.adadelta(parameters, rho=0.95, eps=1e-6, weight_decay=decay)
    devices = {parameter.device.type for parameter in parameters}
    make = ADAM[config.optimizer].select(devices).run
    optimizer: Optimizer = make(parameters, betas=(0.9, 0.98), eps=1e-9, weight_decay=decay)
    return optimizer


def explain_optimizer(config: TrainConfig, call: kernels.Call) -> kernels.Decision:
    """Return which implementation of the optimizer runs on a device, and why."""
    if config.optimizer == "adadelta":
        return kernels.OPS["adadelta"].explain(call)
    return ADAM[config.optimizer].explain({call.device})


def _why_not_fused(devices: set[str]) -> str | None:
    others = sorted(devices - {"cpu", "cuda"})
    return f"PyTorch has none for {others[0]}" if others else None


def _adam(kind: type[torch.optim.Adam]) -> kernels.Alternatives[set[str]]:
    fused = kernels.Implementation(
        partial(kind, fused=True),
        f"fused {kind.__name__}",
        "one pass over the memory instead of ten",
        _why_not_fused,
    )
    separate = kernels.Implementation(
        partial(kind, fused=False), f"torch.optim.{kind.__name__}", "it runs on every device"
    )
    return kernels.Alternatives((fused, separate))


ADAM = {"adam": _adam(torch.optim.Adam), "adamw": _adam(torch.optim.AdamW)}
"""The implementations of each optimizer, for the devices of a model's parameters."""


def state_names(optimizer: Optimizer) -> set[str]:
    """Return the names of the tensors that an optimizer keeps for each parameter."""
    if isinstance(optimizer, torch.optim.Adam):
        return {"step", "exp_avg", "exp_avg_sq"}
    step = {"step"} if isinstance(optimizer, torch.optim.Adadelta) else set()
    return {"square_avg", "acc_delta"} | step


def optimizer_tensors(optimizer: Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """Return the optimizer's state of each parameter, under the parameter's name."""
    return {
        f"{name}/{key}": torch.as_tensor(value).detach().cpu()
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def restore_optimizer(
    optimizer: Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]
) -> None:
    """Restore the state of an optimizer."""
    fused = bool(optimizer.param_groups[0].get("fused"))
    for name, parameter in model.named_parameters():
        state = {
            key.rpartition("/")[2]: value
            for key, value in tensors.items()
            if key.rpartition("/")[0] == name
        }
        # tensors of a parameter's shape go to its device; step counts stay on the CPU unless fused
        optimizer.state[parameter] = {
            key: value.to(parameter.device) if value.ndim or fused else value
            for key, value in state.items()
        }
