"""How an implementation is selected and explained: by what it can compute, never by timing.

Therefore a run can be repeated. `registry.py` lists the implementations of each op. Other packages
declare the paths that they select with the same types, and `regard doctor` shows all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, final

import torch
from torch import Tensor

SubjectT = TypeVar("SubjectT")
_NO_KEYWORDS: Mapping[str, Any] = MappingProxyType({})


class Call(NamedTuple):
    """What an op is called with; without arguments, whether an implementation runs at all."""

    device: str
    dtype: torch.dtype = torch.float32
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = _NO_KEYWORDS
    assumed_precision: str | None = None
    """What products would be computed in; None asks torch what holds now."""

    @property
    def precision(self) -> str:
        """What products are computed in: float32, tf32 or bfloat16."""
        if self.assumed_precision is not None:
            return self.assumed_precision
        if torch.is_autocast_enabled(self.device):
            return "bfloat16"
        return "float32" if torch.get_float32_matmul_precision() == "highest" else "tf32"


class Decision(NamedTuple):
    """What runs, and why; the reasons against faster implementations come first."""

    implementation: str
    reason: str


class Implementation(NamedTuple):
    """One way to compute something: its name, what speaks for it, and what against it."""

    run: Callable[..., Any]
    name: str
    reason: str
    why_not: Callable[[Any], str | None] = lambda subject: None


@dataclass(frozen=True)
class Alternatives(Generic[SubjectT]):
    """Implementations of one thing, the fastest first; the last can always run."""

    implementations: tuple[Implementation, ...]

    def select(self, subject: SubjectT) -> Implementation:
        """Return the first implementation that can run."""
        for implementation in self.implementations[:-1]:
            if implementation.why_not(subject) is None:
                return implementation
        return self.implementations[-1]

    def explain(self, subject: SubjectT) -> Decision:
        """Return what `select` returns, and why nothing before it."""
        selected = self.select(subject)
        faster = self.implementations[: self.implementations.index(selected)]
        reasons = [f"{other.name}: {other.why_not(subject)}" for other in faster]
        return Decision(selected.name, "; ".join([*reasons, selected.reason]))


@final
class Op(Alternatives[Call]):
    """Implementations of an op, all with the signature of its definition."""

    @property
    def run(self) -> Callable[..., Any]:
        """The only implementation, or a function that selects one at each call."""
        only = len(self.implementations) == 1
        return self.implementations[0].run if only else self._run

    def _run(self, tensor: Tensor, *arguments: Any, **keywords: Any) -> Any:
        call = Call(tensor.device.type, tensor.dtype, (tensor, *arguments), keywords)
        return self.select(call).run(tensor, *arguments, **keywords)
