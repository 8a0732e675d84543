"""Dates in the formats of 24 locales (Babel's CLDR data), to be normalized to ISO 8601.

A thousand days are held out in every locale and format. The module holds data and settings;
`regard.cli.demo` trains and prints.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache, partial
from random import Random
from typing import Literal, NamedTuple

from regard.config.settings import SearchConfig, Settings, TrainConfig

YEARS = range(1700, 2100)
"""One cycle of the Gregorian calendar: its weekdays repeat after 400 years."""

LOCALES = (
    *("en", "de", "nl", "sv", "fr", "es", "it", "pt", "pl", "cs", "hu", "fi", "tr", "id", "vi"),
    *("ru", "uk", "el", "he", "ar", "hi", "zh", "ja", "ko"),
)
FORMATS: tuple[Literal["short", "medium", "long", "full"], ...] = (
    "short",
    "medium",
    "long",
    "full",
)
NUM_TEST_DAYS, NUM_DEV_DAYS = 1000, 100
TRAIN_DAYS_PER_FORM, DEV_DAYS_PER_FORM = 1200, 4
EXAMPLE_FORMS = (
    ("en", "full"),
    ("de", "long"),
    ("ru", "long"),
    ("el", "full"),
    ("ar", "full"),
    ("hi", "full"),
    ("zh", "full"),
    ("ja", "full"),
    ("ko", "long"),
    ("vi", "long"),
)

WHY = (
    "The names of the months and the order of each language are learned from pairs alone, and "
    "none of these days is in a training pair, in any language. "
    "The model writes each digit of the year while it looks at that digit, and the month while it "
    "looks at its name or number."
)


class Form(NamedTuple):
    """A date format of a locale."""

    locale: str
    format: str
    write: Callable[[date], str]


class Split(NamedTuple):
    """Disjoint days for training, validation and test."""

    train: tuple[date, ...]
    dev: tuple[date, ...]
    test: tuple[date, ...]


class DatePair(NamedTuple):
    """A day in the format of a locale, and in ISO 8601."""

    locale: str
    format: str
    source: str
    target: str


@cache
def forms() -> tuple[Form, ...]:
    """Return the formats of all locales that identify the day."""
    from babel import Locale
    from babel.dates import get_date_format

    all_forms = [
        Form(name, format, partial(get_date_format(format, locale).apply, locale=locale))
        for name, locale in ((name, Locale.parse(name)) for name in LOCALES)
        for format in FORMATS
    ]
    # one leap year has every day that could be confused; a form must contain the year
    return tuple(unambiguous(all_forms, days([2024])))


def unambiguous(forms: Iterable[Form], days: Sequence[date]) -> list[Form]:
    """Return the forms that contain the whole year and never write the line of another day.

    If two forms write the same line for two days, such as 03/04/2024 in London and New York, both
    are dropped.
    """
    lines_by_form: dict[Form, list[str]] = {}
    days_by_line: dict[str, set[date]] = defaultdict(set)
    for form in forms:
        lines = [form.write(day) for day in days]
        if all(map(_tells_year, lines, days)):
            lines_by_form[form] = lines
            for line, day in zip(lines, days, strict=True):
                days_by_line[line].add(day)
    return [
        form
        for form, lines in lines_by_form.items()
        if all(len(days_by_line[x]) == 1 for x in lines)
    ]


def days(years: Iterable[int] = YEARS) -> list[date]:
    """Return every day of these years."""
    spans = ((date(year, 1, 1), date(year, 12, 31)) for year in years)
    return [first + timedelta(n) for first, last in spans for n in range((last - first).days + 1)]


@cache
def split(seed: int = 1) -> Split:
    """Draw the held-out days; all others are for training."""
    all_days = days()
    shuffled_days = tuple(Random(f"days {seed}").sample(all_days, len(all_days)))
    held_out = NUM_TEST_DAYS + NUM_DEV_DAYS
    return Split(
        shuffled_days[held_out:],
        shuffled_days[NUM_TEST_DAYS:held_out],
        shuffled_days[:NUM_TEST_DAYS],
    )


def pairs(seed: int = 1) -> list[tuple[str, str]]:
    """Return the training pairs: for each form its own sample of the training days."""
    return _sampled_pairs(split(seed).train, TRAIN_DAYS_PER_FORM, Random(f"pairs {seed}"))


def dev_pairs(seed: int = 1) -> list[tuple[str, str]]:
    """Return the validation pairs, a few days for each form."""
    return _sampled_pairs(split(seed).dev, DEV_DAYS_PER_FORM, Random(f"dev {seed}"))


def unseen(seed: int = 1) -> list[DatePair]:
    """Return the test days in every form; some forms write the same lines."""
    test = split(seed).test
    return [_date_pair(form, day) for form in forms() for day in test]


def examples(seed: int = 1) -> list[tuple[str, str]]:
    """Return test days in various scripts, each with its correct output."""
    example_forms = [form for name in EXAMPLE_FORMS for form in forms() if form[:2] == name]
    return [
        _date_pair(form, day)[2:]
        for form, day in zip(example_forms, split(seed).test, strict=False)
    ]


def accuracy(rows: Iterable[DatePair], outputs: Mapping[str, str]) -> dict[tuple[str, str], float]:
    """Return the accuracy of each locale and format, in percent.

    `outputs` holds the output for each source line.
    """
    is_correct_by_form: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in rows:
        is_correct_by_form[row.locale, row.format].append(outputs[row.source] == row.target)
    return {form: 100 * sum(answers) / len(answers) for form, answers in is_correct_by_form.items()}


def settings(seed: int = 1) -> Settings:
    """Return Luong's model with a bidirectional encoder and without input feeding.

    Its attention weights concentrate on single characters. Without input feeding, no step waits
    for the attention of the previous one, so a whole target is one fast scan. The last weights are
    saved: several validations are perfect, and the first of them is not the best.
    """
    from regard.models import preset

    return Settings(
        model=preset("luong2015")(
            embedding_size=32,
            hidden_size=64,
            num_layers=1,
            bidirectional=True,
            input_feeding=False,
        ),
        train=TrainConfig(
            seed=seed,
            batch_tokens=4096,
            learning_rate=0.01,
            schedule="cosine",
            warmup_steps=50,
            label_smoothing=0.0,
            max_steps=800,
            validate_every=200,
            save_every=200,
            patience=0,
            average_checkpoints=1,
            average_checkpoints_from="last",
        ),
        search=SearchConfig(max_length=12),
    )


def _tells_year(line: str, day: date) -> bool:
    """Whether the line has the year in four digits, and no other number that could be one."""
    return re.findall(r"\d{3,}", line) == [f"{day.year}"]


def _sampled_pairs(days: Sequence[date], days_per_form: int, rng: Random) -> list[tuple[str, str]]:
    return [
        _date_pair(form, day)[2:] for form in forms() for day in rng.sample(days, days_per_form)
    ]


def _date_pair(form: Form, day: date) -> DatePair:
    return DatePair(form.locale, form.format, form.write(day), day.isoformat())
