"""Tables and pictures of the logs: means over seeds, published scores, scores by length."""

import json
import subprocess
import sys
from pathlib import Path

from recipes.experiments import HERE
from recipes.results import HEAD, draw, read_logs, rows
from recipes.steps import digest
from recipes.tables import LOW_RESOURCE, auto_configuration_table, g2p_by_language, markdown

ROOT = Path(__file__).parents[3]
IN_RESULTS = ["g2p-english", "histnorm", "multi30k-bahdanau2015", "multi30k-vaswani2017"]
IN_RESULTS += ["chinese-bahdanau2015", "chinese-vaswani2017", "chinese-aligned", "couplets"]
IN_RESULTS += ["low-resource"]


def log(task, variant, seed, dev, test=None, **more):
    score = {"name": "exact", "value": dev}
    buckets = [{"mean length": 3.0, "lines": 20, "exact": 50.0}]
    entry = {"task": task, "variant": variant, "seed": seed, "parameters": 1000, **more}
    entry["dev"] = {"scores": [score], "by length": buckets}
    return entry | ({"test": {"scores": [score | {"value": test}]}} if test is not None else {})


def test_seeds_are_averaged_and_g2p_is_scored_by_word_error_rate(tmp_path):
    logs = [
        log("g2p-monolingual", "ice", 1, 90.0, 85.0, seconds=10, concurrent_runs=3),
        log("g2p-monolingual", "ice", 2, 88.0, 87.0, seconds=12, concurrent_runs=3),
        log("histnorm", "german-ridges", 1, 89.5),
    ]
    logs.append(log("g2p-monolingual", "ice", 0, 91.0, models=2))
    del logs[-1]["seed"], logs[-1]["parameters"]
    ice, ensemble, ridges = rows(write_and_read(tmp_path, logs))
    assert ensemble == ["g2p-monolingual", "ice, ensemble of 2", "WER", "2", "9.00", *[""] * 5]
    assert ice == [
        "g2p-monolingual",
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
    assert line.startswith("| g2p-monolingual | ice | WER | 2 | 11.00 (")


def write_and_read(folder, logs):
    for number, one in enumerate(logs):
        (folder / f"{number}.json").write_text(json.dumps(one))
    return read_logs(folder)


def test_many_variants_have_a_mean(tmp_path):
    names = ("ang", "ara", "asm", "evn", "got", "heb", "hun", "hye", "kat", "kaz")
    logs = [log("inflection", name, 1, 10.0 * n) for n, name in enumerate(names)]
    # a variant with two seeds counts once: the last has 90 on average
    logs[-1:] = [log("inflection", "kaz", seed, score) for seed, score in ((1, 84.0), (2, 96.0))]
    # an ensemble does not count
    logs.append(log("inflection", "ang", 1, 99.0, models=2))
    del logs[-1]["seed"]
    *variants, _, mean = rows(write_and_read(tmp_path, logs))
    assert len(variants) == 10
    published = sum(float(variant[7]) for variant in variants) / 10
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


def test_variants_of_another_kind_have_a_mean_of_their_own(tmp_path):
    names = ("ady", "gre", "ice", "ita", "khm", "lav", "mlt_latn", "rum", "slv", "wel_sw")
    logs = [log("g2p-fine-tuned", name, 1, 90.0) for name in ("bul", *names)]
    logs += [log("g2p-fine-tuned", f"{name}-vaswani2017", 1, 80.0) for name in names]
    means = [row for row in rows(write_and_read(tmp_path, logs)) if row[1].startswith("mean")]
    assert [row[1] for row in means] == ["mean of 11", "mean of 10, vaswani2017"]
    assert [row[4] for row in means] == ["10.00", "20.00"]
    # the organizers' own mean
    assert means[1][6] == "22.40"


def test_languages_are_columns_and_errors_below_the_baseline_are_bold(tmp_path):
    logs = [log("g2p-monolingual", "ady", seed, score) for seed, score in ((1, 75.0), (2, 79.0))]
    logs += [log("g2p-monolingual", "gre", 1, 91.0), log("g2p-distilled", "ady", 1, 78.0)]
    logs += [
        log("g2p-monolingual", "fre", 1, 92.7),
        log("g2p-distilled", "ady-vaswani2017", 1, 78.5),
    ]
    logs[3]["teachers"] = {"scores": [{"name": "exact", "value": 80.0}]}
    logs.append(log("g2p-multilingual", "all", 1, 80.0))
    logs[-1]["dev"]["exact by tag"] = {"ady": 70.0, "gre": 95.5, "fre": 90.0}
    # an ensemble does not count
    logs.append(log("g2p-monolingual", "ady", 1, 99.0, models=2))
    del logs[-1]["seed"]
    grouped = write_and_read(tmp_path, logs)
    tags = grouped["g2p-multilingual"]["all"][0]["dev"]["exact by tag"]
    tags |= dict.fromkeys(LOW_RESOURCE[2:], 50.0)
    head, table = g2p_by_language(grouped, low_resource=True)
    assert head[:3] == ["", "ady", "gre"]
    assert [row[:3] for row in table] == [
        ["monolingual", "23", "9"],
        ["multilingual, `bahdanau2015`", "30", "**4.5**"],
        ["ensemble of these two: the teachers", "**20**", ""],
        ["distilled, `bahdanau2015`", "22", ""],
        ["distilled, Transformer", "**21.5**", ""],
        ["best single-model row", "**21.5**", "**4.5**"],
        ["best seed of any row", "**21**", "**4.5**"],
        ["baseline", "22", "5"],
    ]
    # the multilingual models leave English out
    head, (_, multilingual, *_) = g2p_by_language(grouped, low_resource=False)
    assert [multilingual[head.index(name)] for name in ("eng", "fre")] == ["", "10"]


def test_auto_configuration_is_compared_with_the_recipe_of_the_same_pairs(tmp_path):
    logs = [log("g2p-monolingual", "ice", seed, score) for seed, score in ((1, 75.0), (2, 85.0))]
    logs += [log("g2p-monolingual", "ady", 1, 80.0), log("auto-configured-g2p", "ady", 1, 76.0)]
    logs += [log("auto-configured-g2p", "ice", 1, 82.0), log("auto-configured-g2p", "gre", 1, 99.0)]
    _, table = auto_configuration_table(write_and_read(tmp_path, logs))
    assert table == [
        ["auto-configured-g2p", "ady", "76.00", "80.00", "+20 %"],
        ["auto-configured-g2p", "ice", "82.00", "80.00", "-10 %"],
        ["auto-configured-g2p", "mean of 2", "79.00", "80.00", "+5 %"],
    ]


def test_the_scores_in_the_results_document_are_those_of_the_logs():
    document = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    logs = read_logs(HERE / "logs")
    tables = [g2p_by_language(logs, low_resource=x) for x in (True, False)]
    for table in [*tables, auto_configuration_table(logs)]:
        assert markdown(*table) in document
    documented = [row for row in rows(logs) if row[0] in IN_RESULTS]
    assert len(documented) >= len(IN_RESULTS)
    for row in documented:
        for score in filter(None, row[4:6]):
            assert score in document, row


def test_every_log_is_of_the_present_settings():
    for path in sorted((HERE / "logs").glob("*.json")):
        entry = json.loads(path.read_text())
        # early logs of ensembles name no settings; those of their members do
        early_ensemble = "models" in entry and "digests" not in entry
        if entry.get("settings") != "auto-configured" and not early_ensemble:
            settings = ROOT / entry["settings"]
            assert entry["digests"]["settings"] == digest(settings), path.name


def test_a_folder_without_logs_is_refused(tmp_path):
    command = [sys.executable, "-m", "recipes.results", "--logs", str(tmp_path / "none")]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 2
    sentence = "none has no logs; --logs must name a folder that python -m recipes.run wrote"
    assert sentence in completed.stderr


def test_buckets_of_few_lines_are_left_out(tmp_path):
    one = log("papers-sounds", "cho2014", 1, 50.0)
    one["dev"]["by length"][0]["lines"] = 19
    draw({"cho2014": [one]}, "right", tmp_path / "x.png")
    assert (tmp_path / "x.png").exists()


def test_scores_by_length_become_a_picture(tmp_path):
    draw({"cho2014": [log("papers-sounds", "cho2014", 1, 50.0)]}, "right", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
