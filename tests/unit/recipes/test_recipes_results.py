"""What the logs say: means over seeds, errors beside what was published, pictures by length."""

import json
import subprocess
import sys
from pathlib import Path

from recipes.parts import HERE
from recipes.results import HEAD, draw, read, rows
from recipes.run import digest
from recipes.tables import SCARCE, languages, markdown, without_settings

ROOT = Path(__file__).parents[3]
WANTED = ["g2p-english", "histnorm", "multi30k-bahdanau2015", "multi30k-vaswani2017"]
WANTED += ["chinese-bahdanau2015", "chinese-vaswani2017", "chinese-aligned", "couplets", "little"]


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
    _, _, line = markdown(HEAD, [ice]).splitlines()
    assert line.startswith("| g2p-languages | ice | WER | 2 | 11.00 (")


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


def test_languages_stand_side_by_side_and_what_is_below_the_baseline_is_bold(tmp_path):
    logs = [log("g2p-languages", "ady", seed, score) for seed, score in ((1, 75.0), (2, 79.0))]
    logs += [log("g2p-languages", "gre", 1, 91.0), log("g2p-taught", "ady", 1, 78.0)]
    logs += [log("g2p-languages", "fre", 1, 92.7), log("g2p-taught", "ady-vaswani2017", 1, 78.5)]
    logs[3]["teachers"] = {"scores": [{"name": "exact", "value": 80.0}]}
    logs.append(log("g2p-together", "all", 1, 80.0))
    logs[-1]["dev"]["exact by tag"] = {"ady": 70.0, "gre": 95.5, "fre": 90.0}
    # models together are none of them
    logs.append(log("g2p-languages", "ady", 1, 99.0, models=2))
    del logs[-1]["seed"]
    found = written(tmp_path, logs)
    found["g2p-together"]["all"][0]["dev"]["exact by tag"] |= dict.fromkeys(SCARCE[2:], 50.0)
    head, table = languages(found, scarce=True)
    assert head[:3] == ["", "ady", "gre"]
    assert [row[:3] for row in table] == [
        ["by itself", "23", "9"],
        ["all in one, `bahdanau2015`", "30", "**4.5**"],
        ["these two as one, the teachers", "**20**", ""],
        ["taught, from `bahdanau2015`", "22", ""],
        ["taught, from the Transformer", "**21.5**", ""],
        ["counted: the best of these rows", "**21.5**", "**4.5**"],
        ["the best seed of any row", "**21**", "**4.5**"],
        ["baseline", "22", "5"],
    ]
    # English is not among all
    head, (_, together, *_) = languages(found, scarce=False)
    assert [together[head.index(name)] for name in ("eng", "fre")] == ["", "10"]


def test_automatic_settings_stand_beside_the_recipe_that_has_the_same_pairs(tmp_path):
    logs = [log("g2p-languages", "ice", seed, score) for seed, score in ((1, 75.0), (2, 85.0))]
    logs += [log("g2p-languages", "ady", 1, 80.0), log("automatic-sounds", "ady", 1, 76.0)]
    logs += [log("automatic-sounds", "ice", 1, 82.0), log("automatic-sounds", "gre", 1, 99.0)]
    _, table = without_settings(written(tmp_path, logs))
    assert table == [
        ["automatic-sounds", "ady", "76.00", "80.00", "+20 %"],
        ["automatic-sounds", "ice", "82.00", "80.00", "-10 %"],
        ["automatic-sounds", "mean of 2", "79.00", "80.00", "+5 %"],
    ]


def test_what_the_results_tell_is_what_the_logs_say():
    told = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    found = read(HERE / "logs")
    tables = [languages(found, scarce=True), languages(found, scarce=False)]
    for table in [*tables, without_settings(found)]:
        assert markdown(*table) in told
    wanted = [row for row in rows(found) if row[0] in WANTED]
    assert len(wanted) >= len(WANTED)
    for row in wanted:
        for score in filter(None, row[4:6]):
            assert score in told, row


def test_every_log_that_is_kept_is_of_the_settings_that_are_there():
    for path in sorted((HERE / "logs").glob("*.json")):
        found = json.loads(path.read_text())
        # models as one: the logs of each say by which settings
        if found.get("settings") != "automatic" and ("digests" in found or "models" not in found):
            settings = ROOT / found["settings"]
            # or of the settings under their old names, which are the same (tests/compat)
            old = ROOT / "tests" / "compat" / "recipes-0.1" / settings.name
            digests = {digest(file) for file in (settings, old) if file.exists()}
            assert found["digests"]["settings"] in digests, path.name


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
