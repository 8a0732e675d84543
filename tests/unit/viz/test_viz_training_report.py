"""The report of a run folder: numbers that were logged, of whatever is there, and no network."""

import json
import os
import re
import struct
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.viz.report_charts import Chart, downsample, draw_chart, ticks
from regard.viz.report_samples import select_evenly_spaced
from regard.viz.run_data import attention_of, read_run
from regard.viz.training_report import to_report

CASES = settings(
    max_examples=int(os.environ.get("REGARD_CASES", "500")) // 5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
VOID = {"meta", "br"}
SAMPLE = {
    "source": "我爱 <b>",
    "target": "i love it",
    "output": "i love",
    "source_tokens": ["我", "爱"],
    "tokens": ["i", "love"],
    "weights": [[0.75, 0.25], [0.0, 1.0], [0.5, 0.5]],
}
SCORED = {"metric": "exact", "signature": "exact|nrefs:1", "watched": SAMPLE, "sample": SAMPLE}
LOG = [
    {"step": 10, "loss": 2.5, "rate": 0.001, "tokens": 100},
    {"step": 20, "loss": 1.25, "rate": 0.002, "tokens": 100},
    {"step": 20, "score": 40.0, "best": 40.0, **SCORED},
    {"step": 30, "loss": 0.75, "rate": 0.001, "tokens": 100},
    {"step": 30, "score": 37.5, "best": 40.0, **SCORED},
]
LINES = [
    # symbols of the source, edits, characters of the right line
    {"source": "abc", "source_length": 3, "targets": ["ABC"], "output": "ABC", "edits": 0},
    {"source": "abcde", "source_length": 5, "targets": ["ABCDE"], "output": "ABXDE", "edits": 1},
    {"source": "abcdef", "source_length": 6, "targets": ["AB", "X"], "output": "", "edits": 2},
    {"source": "long", "source_length": 90, "targets": ["ABCD"], "output": "ABCX", "edits": 1},
]


class Page(HTMLParser):
    """Texts, titles and rows of tables; every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.titles, self.rows, self.tags, self.open = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.rows += [[]] if tag == "tr" else []
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "title":
            self.titles.append(data)
        elif {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
        self.texts.append(data)


def write(folder, *, finished=True, **files):
    """Lay out a run folder; None leaves a file out."""
    progress = {"step": 30, "finished": finished}
    recipe = {"pairs": "f1a9", "dev": None, "environment": {"threads": 2}}
    whole = {
        "settings.toml": '[train]\nmax_steps = 30\nmetric = "exact"\n[model.encoder]\nsize = 7\n',
        "log.jsonl": lines(LOG),
        "throughput.jsonl": lines([{"step": 20, "tokens_per_second": 5000.4, "seconds": 83.2}]),
        "dev.jsonl": lines([{**x, "length": len(x["targets"][0])} for x in LINES]),
        "summary.json": json.dumps(
            {
                "train_pairs": 1200,
                "dev_sources": 4,
                "scores": [{"name": "cer", "value": 12.5, "signature": "cer|unit:character"}],
            }
        ),
        "state.safetensors": safetensors({"progress": progress, "recipe": recipe}),
    }
    folder.mkdir(exist_ok=True)
    for name, content in {**whole, **files}.items():
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            (folder / name).write_bytes(data)
    return folder


def lines(entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def safetensors(metadata):
    """Write a file without tensors as the format has it: a length, and JSON."""
    header = json.dumps({"__metadata__": {"regard": json.dumps(metadata)}}).encode()
    return struct.pack("<Q", len(header)) + header


def page(folder, **options):
    return Page(to_report(read_run(write(folder / "m.run", **options))).encode().decode())


def test_points_of_the_curves_are_the_logged_numbers(tmp_path):
    titles = page(tmp_path).titles
    assert [t for t in titles if t.startswith("update ")] == [
        *("update 10: 2.500", "update 20: 1.250", "update 30: 0.750"),
        *("update 20: 40.00", "update 30: 37.50"),
        *("update 10: 0.001", "update 20: 0.002", "update 30: 0.001"),
        "update 20: 5,000",
    ]
    assert (
        "Training loss per token: 2.500 at update 10, 0.750 at update 30; between 0.750 and 2.500."
    ) in titles


def test_a_curve_is_drawn_at_its_numbers():
    text = draw_chart(Chart("x", [(0, 0.0), (50, 5.0), (100, 10.0)]))
    (points,) = re.findall(r'<polyline class="curve" points="([^"]+)"', text)
    (x1, y1), (x2, y2), (x3, y3) = (map(float, p.split(",")) for p in points.split())
    assert x3 - x2 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.2)
    # up is up
    assert x1 < x3
    assert y1 > y3


def test_many_points_are_averaged_with_a_note():
    points = [(step, float(step % 2)) for step in range(1, 301)]
    found, each = downsample(points)
    assert (len(found), each) == (150, 2)
    assert found[:2] == [(2, 0.5), (4, 0.5)]
    assert "Each point is the mean of up to 2." in draw_chart(Chart("x", points))
    assert downsample(points[:150]) == (points[:150], 1)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 5, 10]),
        (0.2, 0.9, [0.2, 0.4, 0.6, 0.8, 1.0]),
        (3, 3, [1, 2, 3, 4, 5]),
        (0, 0, [-0.5, 0.0, 0.5]),
        (0, 0.002, [0, 0.0005, 0.001, 0.0015, 0.002]),
        (-3, 41, [-20, 0, 20, 40, 60]),
    ],
)
def test_axes_have_round_numbers(low, high, expected):
    assert ticks(low, high) == expected


@pytest.mark.parametrize(
    ("metric", "score", "expected"),
    [
        ("exact", 100.0, ["40", "60", "80", "100"]),
        ("bleu", 0.0, ["0", "0.2", "0.4", "0.6"]),
        ("cer", 0.0, ["0", "0.2", "0.4", "0.6"]),
        ("cer", 100.0, ["50", "100", "150"]),
    ],
)
def test_no_score_is_drawn_without_scores(tmp_path, metric, score, expected):
    log = [{"step": 20, "score": score, "best": score, "metric": metric}]
    text = to_report(read_run(write(tmp_path / "m.run", **{"log.jsonl": lines(log)})))
    (figure,) = re.findall(r"<figure><figcaption>\w+ on the validation set.*?</figure>", text)
    assert re.findall(r'text-anchor="end">([\d.]+)<', figure) == expected


def test_the_head_has_progress_and_signature(tmp_path):
    texts = page(tmp_path).texts
    assert "finished after 30 updates of at most 30" in texts
    assert "40 at update 20, of 2 validations" in texts
    assert "exact|nrefs:1" in texts
    assert "1:23" in texts
    assert "1,200 for training, 4 sources for validation" in texts


@pytest.mark.parametrize(
    ("dev", "told"),
    [
        ("0b22", "1,200 for training, 1 source for validation"),
        ("f1a9", "1,200 for training, 1 source for validation (the same pairs)"),
    ],
)
def test_training_pairs_are_not_called_held_out(tmp_path, dev, told):
    summary = {"train_pairs": 1200, "dev_sources": 1, "pairs": "f1a9", "dev": dev}
    found = page(tmp_path, **{"summary.json": json.dumps(summary)})
    assert told in found.texts
    assert not any("held out" in text for text in found.texts)
    assert ["fingerprint of the validation pairs", dev] in found.rows


def test_the_tables_have_settings_fingerprints_and_signatures(tmp_path):
    rows = page(tmp_path).rows
    meaning = "edits of characters, in percent of the target's characters"
    assert ["12.50", "CER", meaning, "cer|unit:character"] in rows
    assert ["fingerprint of the pairs", "f1a9"] in rows
    assert ["fingerprint of the validation pairs", "held out from the pairs"] in rows
    assert ["threads", "2"] in rows
    assert ["train.max_steps", "30"] in rows
    assert ["model.encoder.size", "7"] in rows


def test_errors_are_counted_by_the_length_of_the_source(tmp_path):
    rows = [row for row in page(tmp_path).rows if re.match(r"\d+(–| and)", row[0])]
    assert [[cell.strip() for cell in row] for row in rows] == [
        # one edit in 3 + 5 characters, two in 2, one in 4
        ["1–5", "2", "50.0 %", "12.5 %"],
        ["6–10", "1", "0.0 %", "100.0 %"],
        ["81 and more", "1", "0.0 %", "25.0 %"],
    ]


def test_the_worst_lines_come_first_without_correct_ones(tmp_path):
    text = to_report(read_run(write(tmp_path / "m.run")))
    rows = [row for row in Page(text).rows if re.search(r"^\d of \d$", row[-1])]
    assert rows == [
        ["abcdef", "AB or 1 other", "(nothing)", "2 of 2"],
        ["long", "ABCD", "ABCX", "1 of 4"],
        ["abcde", "ABCDE", "ABXDE", "1 of 5"],
    ]
    # what differs is marked on both sides
    assert "ABC<mark>D</mark>" in text
    assert "AB<mark>X</mark>DE" in text
    right = [{**LINES[0], "length": 3}]
    assert "Every line is right." in page(tmp_path, **{"dev.jsonl": lines(right)}).texts


def test_samples_are_drawn_with_their_attention(tmp_path):
    found = page(tmp_path)
    told = "i: most 我, 75%. love: most 爱, 100%. ■: most 我, 50%."
    # one line throughout and one by the way, at two validations
    assert found.titles.count(told) == 4
    assert found.titles.count("我 → i: 75%") == 4
    rows = [row for row in found.rows if row[1:3] == ["我爱 <b>", "i love it"]]
    assert [row[0] for row in rows] == ["30", "20"]
    assert all(row[3].startswith("i love" + "attention") for row in rows)


def test_moments_are_spread_from_first_to_last():
    assert select_evenly_spaced(list(range(100)), 8) == [0, 14, 28, 42, 57, 71, 85, 99]
    assert select_evenly_spaced([1, 2], 8) == [1, 2]


def test_a_report_loads_and_runs_nothing(tmp_path):
    text = to_report(read_run(write(tmp_path / "m.run")))
    assert not re.search(r"<script|<link|<img|src=|href=|url\(|@import|https?:|\bon\w+=", text)
    assert "Content-Security-Policy" in text
    assert "@media (prefers-color-scheme: dark)" in text


def test_every_table_has_a_caption_and_every_picture_a_title(tmp_path):
    text = to_report(read_run(write(tmp_path / "m.run")))
    tables = text.split("<table>")[1:]
    assert len(tables) == 6
    assert all(part.startswith("<caption>") for part in tables)
    pictures = re.findall(r"<svg [^>]*>(.{7})", text)
    assert len(pictures) == 4 + 4
    assert set(pictures) == {"<title>"}


def test_an_unfinished_run_has_a_partial_report(tmp_path):
    found = page(tmp_path, finished=False)
    assert "not finished: update 30 of at most 30" in found.texts
    # what stands there is of an earlier end
    assert "Errors by length" not in found.texts
    assert "Scores" not in found.texts


def test_a_new_run_has_a_report_too(tmp_path):
    missing = ("log.jsonl", "throughput.jsonl", "dev.jsonl", "summary.json", "state.safetensors")
    recipe = json.dumps({"recipe": {"pairs": "f1a9"}})
    found = page(tmp_path, **dict.fromkeys(missing), **{"prepared.json": recipe})
    assert "no update is logged yet" in found.texts
    assert "none yet" in found.texts
    assert found.texts.count("Nothing is logged yet.") == 4
    assert ["fingerprint of the pairs", "f1a9"] in found.rows


def test_a_damaged_file_is_named_and_the_rest_is_reported(tmp_path):
    found = page(
        tmp_path,
        **{
            "log.jsonl": 'half\n{"step": NaN}\n[1]\n' + lines(LOG) + '{"step": 40, "lo',
            "state.safetensors": b"\x00\x01",
            "settings.toml": "[",
            "summary.json": "[",
        },
    )
    assert [text for text in found.texts if ": " in text and "left out" in text] == [
        "log.jsonl: 1 line cannot be read, and left out",
        "settings.toml: it is damaged, and left out",
    ]
    told = "state.safetensors: it is damaged; the progress of the run is unknown"
    assert told in found.texts
    assert "update 30: 0.750" in found.titles


def test_a_value_that_is_not_a_number_is_not_drawn(tmp_path):
    strange = ["NaN", "Infinity", "-Infinity", "1" + "0" * 400, '"1"', "null"]
    logged = "".join(f'{{"step": 5, "loss": {x}, "rate": 1, "tokens": 1}}\n' for x in strange)
    found = page(tmp_path, **{"log.jsonl": logged + lines(LOG[:1])})
    points = [title for title in found.titles if title.startswith("update ")]
    assert points == ["update 10: 2.500", "update 10: 0.001", "update 20: 5,000"]


def test_an_older_log_without_attention_is_drawn_without_it(tmp_path):
    plain = {name: SAMPLE[name] for name in ("source", "target", "output")}
    old = [{"step": 5, "score": 1.0, "best": 1.0, "metric": "loss", "sample": plain}]
    found = page(tmp_path, **{"log.jsonl": lines(old), "throughput.jsonl": None})
    assert "dev loss on the validation set" in found.texts
    assert not any("most" in title for title in found.titles)
    assert attention_of({**SAMPLE, "weights": [[2.0]]}) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            "nowhere",
            "There is no such folder. Use a folder that regard train wrote, such as model.run.",
        ),
        (
            "empty",
            "It has neither settings nor a log of a run. Use a folder that regard train wrote,",
        ),
        ("a.txt", "It is a file; it must be the folder of a run. Use a folder that regard train"),
        ("m.regard", "It is a file; it must be the folder of a run. Use {folder}/m.run."),
    ],
)
def test_a_folder_that_is_not_a_run_is_refused(tmp_path, name, problem):
    write(tmp_path / "m.run")
    (tmp_path / "empty").mkdir()
    for file in ("a.txt", "m.regard"):
        (tmp_path / file).write_text("x")
    with pytest.raises(DataError) as refused:
        read_run(tmp_path / name)
    expected = problem.format(folder=tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / name}: {expected}")
    assert str(refused.value).endswith(("such as model.run.", f"Use {tmp_path}/m.run."))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = sorted({name for entry in LOG for name in entry} | {"source_length", "edits", "length"})


@CASES
@given(st.lists(st.dictionaries(st.sampled_from(names), json_values, max_size=4), max_size=4))
def test_any_contents_of_the_files_give_a_complete_page(tmp_path, changes):
    broken = [{**entry, **change} for entry, change in zip(LOG, changes, strict=False)]
    rows = [{**entry, **change} for entry, change in zip(LINES, changes, strict=False)]
    summary = {"scores": changes, "dev_sources": changes}
    parts = {
        "log.jsonl": lines(broken),
        "dev.jsonl": lines(rows),
        "throughput.jsonl": lines(changes),
    }
    page(tmp_path, **parts, **{"summary.json": json.dumps(summary)}).texts.index("Curves")
