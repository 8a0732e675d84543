"""Training from a request to a model file: what `regard.train` and `regard train` both do.

request → corpus profile → auto-configuration → preprocessing → warm start → training → validation
→ model file. Each stage is a module with one result; `run.py` calls them in this order.
"""

from regard.pipeline.request import TrainRequest
from regard.pipeline.run import run
from regard.pipeline.run_outcome import TrainOutcome
from regard.pipeline.train_api import train

__all__ = ["TrainOutcome", "TrainRequest", "run", "train"]
