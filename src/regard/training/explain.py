"""Which implementation of each part of a training update runs on a device, and why."""

from regard.config.settings import TrainConfig
from regard.kernels import PRECISIONS, Call, Decision, PrecisionRequest
from regard.kernels.messages import NEEDS_CUDA
from regard.models.seq2seq import Seq2Seq
from regard.training.optimizer import explain_optimizer


def why_not_cuda_graph(device: str) -> str | None:
    """Return why loss and gradients cannot be a CUDA graph on a device; None if they can."""
    return None if device == "cuda" else NEEDS_CUDA


def explain_training(model: Seq2Seq, config: TrainConfig, device: str) -> dict[str, Decision]:
    """Return what runs in an update of a model, part by part, on any device."""
    precision = PRECISIONS.explain(PrecisionRequest(config.precision, device))
    call = Call(device, assumed_precision=precision.implementation)
    why_all_logits = "R-Drop compares the logits of two passes" if config.rdrop_alpha else None
    was_training = model.training
    model.train()
    try:
        return {
            "precision": precision,
            **model.encoder.explain(call),
            **model.decoder.explain(call),
            "loss": model.readout.explain(call, why_all_logits=why_all_logits),
            "gradients": _explain_gradients(device),
            "optimizer": explain_optimizer(config, call),
        }
    finally:
        model.train(was_training)


def _explain_gradients(device: str) -> Decision:
    why_not = why_not_cuda_graph(device)
    if why_not is None:
        return Decision("CUDA graph", "one launch replaces thousands")
    return Decision("op by op", f"CUDA graph: {why_not}; every device can")
