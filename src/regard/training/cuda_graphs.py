"""CUDA graphs: forward and backward pass are captured once per batch shape and replayed.

One launch replaces thousands. A replay runs the same kernels in the same order as the calls that
were captured. Batches come in few shapes, so few graphs are needed. Nothing here waits for the
device.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from regard.data.batches import Batch


class _CapturedGraph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: Batch


@final
class CudaGraphStep:
    """Adds the gradients of a batch to those of the parameters, with one CUDA graph per shape."""

    def __init__(self, model: nn.Module, loss: Callable[[Batch], Tensor]) -> None:
        self.loss = loss
        self.parameters = [part for part in model.parameters() if part.requires_grad]
        self.device = self.parameters[0].device
        self.total = torch.zeros((), device=self.device)
        self.scale = torch.zeros((), device=self.device)
        self.graphs: dict[tuple[int, ...], _CapturedGraph] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, batches: list[Batch], tokens: int) -> Callable[[], float]:
        """Add the gradients of the mean loss per token; return a function that reads the sum."""
        self.total.zero_()
        self.scale.fill_(1 / tokens)
        for parameter in self.parameters:
            # every graph writes to the same gradient tensors
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        for batch in batches:
            self._replay(batch)
        return _read_later(self.total)

    def _replay(self, batch: Batch) -> None:
        if batch.shape not in self.graphs:
            self.graphs[batch.shape] = self._capture(batch.to(self.device))
        captured = self.graphs[batch.shape]
        for field in fields(Batch):
            graph_input: Tensor = getattr(captured.batch, field.name)
            # only pinned memory can be copied without waiting
            graph_input.copy_(getattr(batch, field.name).pin_memory(), non_blocking=True)
        captured.graph.replay()

    def _capture(self, batch: Batch) -> _CapturedGraph:
        """Warm up once, which compiles and loads everything; then capture the graph."""
        gradients, total = [parameter.grad for parameter in self.parameters], self.total
        random_state = torch.cuda.get_rng_state(self.device)
        self.total = torch.zeros_like(self.total)
        for parameter in self.parameters:
            parameter.grad = None
        side_stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            self._forward_backward(batch)
        torch.cuda.current_stream().wait_stream(side_stream)
        torch.cuda.set_rng_state(random_state, self.device)
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        self.total = total
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            self._forward_backward(batch)
        return _CapturedGraph(graph, batch)

    def _forward_backward(self, batch: Batch) -> None:
        loss = self.loss(batch)
        torch.autograd.backward(loss * self.scale)
        self.total.add_(loss.detach())


def _read_later(number: Tensor) -> Callable[[], float]:
    """Copy a number to the host; return a function that waits for this copy alone."""
    host = torch.empty_like(number, device="cpu", pin_memory=True)
    host.copy_(number, non_blocking=True)
    copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
    copied.record()

    def read() -> float:
        copied.synchronize()
        return float(host)

    return read
