"""Reasons that several decisions share, as `regard doctor` shows them."""

NEEDS_CUDA = "needs a CUDA device"
NOTHING_FASTER = "nothing faster exists yet"
EXACT = "PyTorch computes exactly this function"


def setting_is(name: str, current: str) -> str:
    """Say which setting rules out an implementation."""
    return f"{name} is {current}"
