"""How an implementation is selected and explained: by what it can compute, never by timing.

Therefore a run can be repeated. `registry.py` lists the implementations of each op. Other packages
declare their own alternatives with the same types, and `regard doctor` shows all of them.
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
    """The arguments of an op; without them, whether an implementation can run on the device."""

    device: str
    dtype: torch.dtype = torch.float32
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = _NO_KEYWORDS
    assumed_precision: str | None = None
    """The precision of products to assume; None for torch's current one."""

    @property
    def precision(self) -> str:
        """The precision of products: float32, tf32 or bfloat16."""
        if self.assumed_precision is not None:
            return self.assumed_precision
        if torch.is_autocast_enabled(self.device):
            return "bfloat16"
        return "float32" if torch.get_float32_matmul_precision() == "highest" else "tf32"


class Decision(NamedTuple):
    """What runs, and why; it begins with the reasons why no faster implementation does."""

    implementation: str
    reason: str


class Implementation(NamedTuple):
    """One way to compute something: its name, the reason for it, and what rules it out."""

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
        """Return what `select` returns, and why no implementation before it can run."""
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
