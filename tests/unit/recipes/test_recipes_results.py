"""What the logs say: means over seeds, errors beside what was published, pictures by length."""

import json
import subprocess
import sys
from pathlib import Path

from recipes.results import draw, markdown, read, rows
from recipes.run import digest
from recipes.tasks import HERE

ROOT = Path(__file__).parents[3]


def log(task, part, seed, dev, test=None, **more):
    score = {"name": "exact", "value": dev}
    classes = [{"mean length": 3.0, "lines": 20, "exact": 50.0}]
    found = {"task": task, "part": part, "seed": seed, "parameters": 1000, **more}
    found["dev"] = {"scores": [score], "by length": classes}
    return found | ({"test": {"scores": [score | {"value": test}]}} if test is not None else {})


def test_seeds_are_taken_together_and_words_to_sounds_are_counted_by_errors(tmp_path):
    logs = [
        log("g2p-languages", "ice", 1, 90.0, 85.0, seconds=10, beside=3),
        log("g2p-languages", "ice", 2, 88.0, 87.0, seconds=12, beside=3),
        log("histnorm", "german-ridges", 1, 89.5),
    ]
    logs.append(log("g2p-languages", "ice", 0, 91.0, models=2))
    del logs[-1]["seed"], logs[-1]["parameters"]
    ice, together, ridges = rows(written(tmp_path, logs))
    assert together == ["g2p-languages", "ice, ensemble of 2", "WER", "2", "9.00", *[""] * 5]
    assert ice == [
        "g2p-languages",
        "ice",
        "WER",
        "2",
        "11.00 (10.00 to 12.00)",
        "14.00 (13.00 to 15.00)",
        "11.00",
        "12.00",
        "1,000",
        "11 s, up to 4 at once",
    ]
    assert ridges[2:6] == ["exact", "1", "89.50", ""]
    assert markdown([ice]).splitlines()[2].startswith("| g2p-languages | ice | WER | 2 | 11.00 (")


def written(folder, logs):
    for number, one in enumerate(logs):
        (folder / f"{number}.json").write_text(json.dumps(one))
    return read(folder)


def test_many_parts_have_a_mean(tmp_path):
    names = ("ang", "ara", "asm", "evn", "got", "heb", "hun", "hye", "kat", "kaz")
    logs = [log("inflection", name, 1, 10.0 * n) for n, name in enumerate(names)]
    # a part of two seeds counts once: the last has 90 on the mean
    logs[-1:] = [log("inflection", "kaz", seed, score) for seed, score in ((1, 84.0), (2, 96.0))]
    # models together are none of them
    logs.append(log("inflection", "ang", 1, 99.0, models=2))
    del logs[-1]["seed"]
    *parts, _, mean = rows(written(tmp_path, logs))
    assert len(parts) == 10
    published = sum(float(part[7]) for part in parts) / 10
    assert mean[1:] == [
        "mean of 10",
        "exact",
        "",
        "45.00",
        "",
        "",
        f"{published:.2f}",
        "",
        "",
    ]


def test_parts_that_go_on_from_another_kind_have_a_mean_of_their_own(tmp_path):
    names = ("ady", "gre", "ice", "ita", "khm", "lav", "mlt_latn", "rum", "slv", "wel_sw")
    logs = [log("g2p-after", name, 1, 90.0) for name in ("bul", *names)]
    logs += [log("g2p-after", f"{name}-vaswani2017", 1, 80.0) for name in names]
    means = [row for row in rows(written(tmp_path, logs)) if row[1].startswith("mean")]
    assert [row[1] for row in means] == ["mean of 11", "mean of 10, vaswani2017"]
    assert [row[4] for row in means] == ["10.00", "20.00"]
    # of the organisers, as their own table has it
    assert means[1][6] == "22.40"


def test_every_log_that_is_kept_is_of_the_settings_that_are_there():
    for path in sorted((HERE / "logs").glob("*.json")):
        found = json.loads(path.read_text())
        # models as one: the logs of each say by which settings
        if "digests" in found or "models" not in found:
            settings = ROOT / found["settings"]
            assert found["digests"]["settings"] == digest(settings), path.name


def test_a_folder_without_logs_is_refused(tmp_path):
    command = [sys.executable, "-m", "recipes.results", "--logs", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none has no logs; a folder that python -m recipes.run wrote would do" in done.stderr


def test_of_few_lines_nothing_is_drawn(tmp_path):
    one = log("papers-sounds", "cho2014", 1, 50.0)
    one["dev"]["by length"][0]["lines"] = 19
    draw({"cho2014": [one]}, "right", tmp_path / "x.png")
    assert (tmp_path / "x.png").exists()


def test_a_picture_is_drawn_of_scores_by_length(tmp_path):
    draw({"cho2014": [log("papers-sounds", "cho2014", 1, 50.0)]}, "right", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
