"""What `regard.train` and `regard train` both do: look, choose, prepare, train, save."""

from regard.api.order import Order, train
from regard.api.run import run

__all__ = ["Order", "run", "train"]
