"""A weight as a color: dark violet for 0, yellow for 1, monotonically lighter, as in viridis."""

RGB = tuple[int, int, int]

ANCHORS: tuple[RGB, ...] = (
    (68, 1, 84),
    (59, 82, 139),
    (33, 145, 140),
    (94, 201, 98),
    (253, 231, 37),
)
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
CUBE_LEVELS = (0, 95, 135, 175, 215, 255)
"""Levels of red, green and blue of a 256-color terminal."""


def ramp(weight: float) -> RGB:
    """Return a weight's color, between the two nearest anchors; weights are clipped to [0, 1]."""
    position = min(max(float(weight), 0.0), 1.0) * (len(ANCHORS) - 1)
    below = min(int(position), len(ANCHORS) - 2)
    share = position - below
    low, high = ANCHORS[below], ANCHORS[below + 1]
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(low, high, strict=True))
    return red, green, blue


def ink(background: RGB) -> RGB:
    """Return black or white, whichever stands out more."""
    # the L at which both contrasts of WCAG 2 are equal: 1.05 / (L + 0.05) = (L + 0.05) / 0.05
    return BLACK if luminance(background) > 0.1791 else WHITE


def luminance(color: RGB) -> float:
    """Return the relative luminance L of WCAG 2, from 0 (black) to 1 (white)."""
    red, green, blue = (
        x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4
        for x in (part / 255 for part in color)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def percent(weight: float) -> str:
    """Write a weight in percent, or nothing if that rounds to 0."""
    return f"{rounded}" if (rounded := round(100 * float(weight))) else ""


def css(color: RGB) -> str:
    """Write a color for HTML and SVG."""
    return "#" + "".join(f"{part:02x}" for part in color)


def nearest_of_256(color: RGB) -> tuple[int, RGB]:
    """Return the nearest of a terminal's 256 colors, 16 + 36 r + 6 g + b, and its RGB color.

    The first 16 depend on the user's theme; none of the 24 grays is near a color of the ramp.
    """
    steps = [min(range(6), key=lambda n: abs(CUBE_LEVELS[n] - part)) for part in color]
    red, green, blue = (CUBE_LEVELS[step] for step in steps)
    return 16 + 36 * steps[0] + 6 * steps[1] + steps[2], (red, green, blue)
