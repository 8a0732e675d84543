"""What makes decoding fast: one protocol that search uses, and its implementations."""

from regard.inference.prepare import PreparedModel, explain_decoding, prepare_for_inference
from regard.inference.step_decoder import ReferenceStepDecoder, StepDecoder

__all__ = [
    "PreparedModel",
    "ReferenceStepDecoder",
    "StepDecoder",
    "explain_decoding",
    "prepare_for_inference",
]
