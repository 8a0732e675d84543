"""Shared by the pictures: colors for every kind of color vision, and saving a figure."""

from pathlib import Path

from matplotlib.figure import Figure

# of Okabe and Ito, distinct for every kind of color vision
BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "#666666"


def save(figure: Figure, path: Path) -> Path:
    """Write the figure, make its folder if there is none, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path
