"""regard learns to turn one sequence into another from pairs, and shows where it looked."""

__version__ = "0.1.0.dev0"
