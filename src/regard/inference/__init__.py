"""What makes decoding fast: one protocol that search uses, and its implementations."""

from regard.inference.prepare import Decision, PreparedModel, explain, prepare_for_inference
from regard.inference.step_decoder import ReferenceStepDecoder, StepDecoder

__all__ = [
    "Decision",
    "PreparedModel",
    "ReferenceStepDecoder",
    "StepDecoder",
    "explain",
    "prepare_for_inference",
]
