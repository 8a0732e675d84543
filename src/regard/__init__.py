"""regard learns to turn one sequence into another from pairs, and shows where it looked."""

from typing import TYPE_CHECKING, Any

from regard import runtime_environment

if TYPE_CHECKING:
    from regard.pipeline import train
    from regard.translator import Translation, Translator, load

__version__ = "0.1.0.dev0"
__all__ = ["Translation", "Translator", "__version__", "load", "train"]

runtime_environment.set_defaults()


def __getattr__(name: str) -> Any:
    """Import torch only on first use: `regard --help` does not need it."""
    if name == "train":
        from regard.pipeline import train

        return train
    if name in ("Translation", "Translator", "load"):
        from regard import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
