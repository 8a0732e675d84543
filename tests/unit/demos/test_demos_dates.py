import re
import subprocess
import sys
import time
import unicodedata
from calendar import isleap
from datetime import date
from itertools import product

import pytest
from demo_job import trained

from regard.demos import dates
from regard.demos.dates import DatePair, Form
from regard.models import build

# written down by hand: what the locales' writers would put on a letter
BY_HAND = [
    ("en", "medium", "Mar 5, 2024", date(2024, 3, 5)),
    ("en", "full", "Wednesday, July 4, 1956", date(1956, 7, 4)),
    ("de", "medium", "24.12.1999", date(1999, 12, 24)),
    ("de", "long", "5. März 2024", date(2024, 3, 5)),
    ("de", "full", "Donnerstag, 9. November 1989", date(1989, 11, 9)),
    ("fr", "short", "14/07/1789", date(1789, 7, 14)),
    ("fr", "full", "mardi 14 juillet 1789", date(1789, 7, 14)),
    ("es", "long", "12 de octubre de 1992", date(1992, 10, 12)),
    ("it", "long", "2 giugno 1946", date(1946, 6, 2)),
    ("sv", "short", "2000-02-29", date(2000, 2, 29)),
    ("hu", "long", "1848. március 15.", date(1848, 3, 15)),
    ("ru", "full", "суббота, 9 мая 2015\u202f\u0433.", date(2015, 5, 9)),
    ("el", "long", "25 Μαρτίου 1821", date(1821, 3, 25)),
    ("ar", "long", "1 يناير 2000", date(2000, 1, 1)),
    ("hi", "full", "शुक्रवार, 15 अगस्त 1947", date(1947, 8, 15)),
    ("zh", "full", "1949年10月1日星期六", date(1949, 10, 1)),
    ("ja", "full", "2011年3月11日金曜日", date(2011, 3, 11)),
    ("ko", "long", "1945년 8월 15일", date(1945, 8, 15)),
    ("vi", "full", "Thứ Bảy, 2 tháng 9, 2045", date(2045, 9, 2)),
]


@pytest.fixture(scope="module")
def pairs():
    return dates.pairs()


def named(locale, name):
    (form,) = (form for form in dates.forms() if form[:2] == (locale, name))
    return form


@pytest.mark.parametrize(("locale", "name", "line", "day"), BY_HAND)
def test_a_date_is_written_as_in_its_locale(locale, name, line, day):
    assert named(locale, name).write(day) == line


def test_over_twenty_locales_have_their_three_longer_formats():
    kept = {form[:2] for form in dates.forms()}
    assert len(set(dates.LOCALES)) == len(dates.LOCALES) >= 20
    assert set(product(dates.LOCALES, ("medium", "long", "full"))) < kept
    assert len(kept) == len(dates.forms())


def test_a_short_format_is_kept_only_with_its_four_digit_year():
    kept = {form.locale for form in dates.forms() if form.format == "short"}
    assert {"fr", "nl", "sv", "ru", "hu", "ja", "zh"} <= kept
    # 5/3/24, 05.03.24 and the like
    assert not {"en", "de", "es", "it", "el", "hi", "ko", "vi"} & kept


def assert_one_day_a_line(years):
    """Different years cannot meet, since each line names its own: it is enough to look in each."""
    count = 0
    for year in years:
        meant = {}
        for form, day in product(dates.forms(), dates.days([year])):
            line = form.write(day)
            assert re.findall(r"[0-9]{3,}", line) == [str(year)], (form, line)
            assert meant.setdefault(line, day) == day, (form, line)
            count += 1
    return count


def test_no_line_is_ambiguous_in_any_kind_of_year():
    # leap or not, and the weekday of its first day: a year has no other calendar
    kinds = {(isleap(year), date(year, 1, 1).weekday()): year for year in dates.YEARS}
    assert len(kinds) == 14
    assert assert_one_day_a_line(kinds.values()) > 14 * 365 * 60


@pytest.mark.slow
def test_no_line_is_ambiguous_in_any_year(record_property):
    record_property("lines", assert_one_day_a_line(dates.YEARS))


def form(locale, pattern):
    return Form(locale, "short", lambda day: day.strftime(pattern))


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (["%d/%m/%Y", "%m/%d/%Y"], []),
        (["%d.%m.%Y", "%m/%d/%Y"], ["%d.%m.%Y", "%m/%d/%Y"]),
        (["%d/%m/%Y", "%d/%m/%Y"], ["%d/%m/%Y", "%d/%m/%Y"]),
        (["%d/%m/%y", "%Y-%m-%d"], ["%Y-%m-%d"]),
        (["%B %Y", "%Y, day %d of %B"], ["%Y, day %d of %B"]),
        (["%d%m%Y", "%Y-%m-%d"], ["%Y-%m-%d"]),
        # what is not kept for its year takes nobody along
        (["%m/%d/%y", "%d/%m/%Y"], ["%d/%m/%Y"]),
    ],
)
def test_ambiguous_formats_are_excluded(patterns, kept):
    forms = [form(pattern, pattern) for pattern in patterns]
    assert [form.locale for form in dates.unambiguous(forms, dates.days([2024]))] == kept


def test_years_of_other_calendars_are_excluded():
    buddhist = Form("th", "long", lambda day: f"{day.day} {day.month} {day.year + 543}")
    digits = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    eastern = Form("ar_EG", "long", lambda day: day.isoformat().translate(digits))
    assert dates.unambiguous([buddhist, eastern], dates.days([2024])) == []


def test_the_days_are_a_whole_turn_of_the_calendar():
    # 400 years of 365 days, 97 of them with one more
    assert len(set(dates.days())) == len(dates.days()) == 400 * 365 + 97
    assert dates.days([2023])[0] == date(2023, 1, 1)
    assert dates.days([2024])[59:61] == [date(2024, 2, 29), date(2024, 3, 1)]


def test_days_held_out_are_in_no_training_pair(pairs):
    split = dates.split()
    assert len(split.test) == 1000
    assert sorted(split.train + split.dev + split.test) == dates.days()
    test = {day.isoformat() for day in split.test}
    dev = {day.isoformat() for day in split.dev}
    trained = {iso for _, iso in pairs}
    assert not trained & (test | dev)
    assert {iso for _, iso in dates.dev_pairs()} <= dev
    assert {row.target for row in dates.unseen()} == test


def test_the_seed_decides_which_days_are_held_out():
    assert dates.split(1) == dates.split.__wrapped__(1)
    assert set(dates.split(1).test) != set(dates.split(2).test)
    assert dates.dev_pairs(3) == dates.dev_pairs(3)
    assert dates.dev_pairs(3) != dates.dev_pairs(4)


def test_every_form_is_tested_on_all_days_held_out_and_trained_on_as_many(pairs):
    rows = dates.unseen()
    assert len({row[:2] for row in rows}) * 1000 == len({(*row[:2], row.target) for row in rows})
    lines = [line for line, _ in pairs]
    assert len(lines) == len(dates.forms()) * dates.TRAIN_DAYS_PER_FORM
    assert sum(line.endswith("曜日") for line in lines) == dates.TRAIN_DAYS_PER_FORM
    assert 300 <= len(dates.dev_pairs()) <= 400


def test_pairs_are_correct(pairs):
    tongues = {"März": 3, "avril": 4, "сентября": 9, "Δεκεμβρίου": 12}
    found = [(line, iso, name) for line, iso in pairs for name in tongues if name in line]
    assert {name for _, _, name in found} == set(tongues)
    for line, iso, name in found:
        day, year = re.findall(r"[0-9]+", line)
        assert iso == f"{year}-{tongues[name]:02d}-{int(day):02d}"


def test_samples_are_test_days_in_many_scripts():
    shown = dates.examples()
    assert len(shown) == len(dates.EXAMPLE_FORMS) >= 8
    assert len({iso for _, iso in shown}) == len(shown)
    assert set(shown) < {row[2:] for row in dates.unseen()}
    letters = {char for line, _ in shown for char in line if char.isalpha()}
    scripts = {unicodedata.name(letter).split()[0] for letter in letters}
    assert scripts == {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "DEVANAGARI", "CJK", "HANGUL"}


def test_exactness_is_counted_for_each_locale_and_format():
    rows = [
        DatePair("de", "long", "1. Mai 2024", "2024-05-01"),
        DatePair("de", "long", "2. Mai 2024", "2024-05-02"),
        DatePair("de", "short", "1.5.2024", "2024-05-01"),
        DatePair("fi", "short", "1.5.2024", "2024-05-01"),
    ]
    outputs = {"1. Mai 2024": "2024-05-01", "2. Mai 2024": "2024-05-2", "1.5.2024": "2024-05-01"}
    assert dates.accuracy(rows, outputs) == {
        ("de", "long"): 50.0,
        ("de", "short"): 100.0,
        ("fi", "short"): 100.0,
    }


def test_settings_are_of_a_seed_and_end_with_the_last_weights():
    settings = dates.settings(5)
    assert settings.train.seed == 5
    assert settings.train.max_steps % settings.train.validate_every == 0
    assert (settings.train.average_checkpoints, settings.train.average_checkpoints_from) == (
        1,
        "last",
    )
    # the ten characters of a date, and room to be seen to miss the end
    assert settings.search.max_length > 10
    assert build(settings.model, 11, 13).decoder.attention_shape == (1, 1)


def test_importing_the_demo_needs_neither_torch_nor_babel():
    script = (
        "import sys, regard.demos.dates\n"
        "print(sorted({'torch', 'numpy', 'babel'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def attention_shape(lines, answers):
    """Say how often a year's digit looks at itself, and a month's at its name: 5. März 2024."""
    year, month = [], []
    for line, answer in zip(lines, answers, strict=True):
        places = answer.attention.argmax(axis=1)
        year += [places[i] == len(line) - 4 + i for i in range(4)]
        month += [line.index(" ") < places[i] < len(line) - 5 for i in (5, 6)]
    return float(sum(year) / len(year)), float(sum(month) / len(month))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_thousand_unseen_days_are_read_in_every_locale_and_format(seed, record_property):
    start = time.monotonic()
    demo = trained(dates.pairs(seed), dates.settings(seed), dates.dev_pairs(seed))
    learned = time.monotonic()
    rows = dates.unseen(seed)
    # a line has one answer, however many forms write it
    lines = list(dict.fromkeys(row.source for row in rows))
    scores = dates.accuracy(rows, {x.source: x.text for x in demo.translate(lines, beam_size=1)})
    record_property("forms", len(scores))
    record_property("lines", len(rows))
    record_property("exact", round(sum(scores.values()) / len(scores), 3))
    record_property("worst", min(scores.values()))
    record_property("train_s", round(learned - start))
    record_property("search_s", round(time.monotonic() - learned))
    german = [row.source for row in rows if row[:2] == ("de", "long")]
    year, month = looks(german, demo.translate(german))
    record_property("year_seen", year)
    record_property("month_seen", month)
    assert len(scores) == len(dates.forms())
    assert min(scores.values()) >= 99, sorted(scores.items(), key=lambda item: item[1])[:5]
    # what the demo says of its own heatmap
    assert min(year, month) >= 0.9
