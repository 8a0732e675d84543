"""Colors: a ramp from dark to light, and letters that stand out on every color."""

from regard.viz.colors import css, ink, nearest_of_256, percent, ramp


def contrast(a, b):
    """The contrast of two colors, as WCAG 2 defines it."""

    def channel(part):
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    light, dark = sorted(
        (0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b) for r, g, b in (a, b)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


def test_the_color_ramp_goes_from_violet_to_yellow_and_is_clamped():
    assert ramp(0) == ramp(-0.01) == (68, 1, 84)
    assert ramp(0.5) == (33, 145, 140)
    assert ramp(1) == ramp(1.01) == (253, 231, 37)
    # half way between the first two anchors: (68 + 59) / 2, (1 + 82) / 2, (84 + 139) / 2
    assert all(abs(x - y) <= 0.5 for x, y in zip(ramp(0.125), (63.5, 41.5, 111.5), strict=True))


def test_more_weight_is_always_lighter():
    black = (0, 0, 0)
    contrasts = [contrast(ramp(step / 200), black) for step in range(201)]
    assert contrasts == sorted(contrasts)
    assert len(set(contrasts)) == 201


def test_letters_have_contrast_on_every_color():
    for step in range(1001):
        background = ramp(step / 1000)
        assert contrast(background, ink(background)) >= 4.5


def test_percentages_are_rounded_and_zero_is_blank():
    assert [percent(x) for x in (0.0, 0.004, 0.006, 0.123, 1.0)] == ["", "", "1", "12", "100"]


def test_colors_are_written_as_in_css():
    assert css((68, 1, 84)) == "#440154"


def test_the_nearest_of_256_colors_is_used_with_contrast():
    # 16 + 36 r + 6 g + b, with steps at 0, 95, 135, 175, 215 and 255
    assert nearest_of_256((0, 0, 0)) == (16, (0, 0, 0))
    assert nearest_of_256((255, 255, 255)) == (231, (255, 255, 255))
    assert nearest_of_256((253, 231, 37)) == (16 + 36 * 5 + 6 * 4 + 0, (255, 215, 0))
    assert nearest_of_256((33, 145, 140)) == (16 + 36 * 0 + 6 * 2 + 2, (0, 135, 135))
    for step in range(1001):
        background = nearest_of_256(ramp(step / 1000))[1]
        assert contrast(background, ink(background)) >= 4.5
