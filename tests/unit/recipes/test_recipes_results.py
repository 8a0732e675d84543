"""What the logs say: means over seeds, errors beside what was published, pictures by length."""

import json

from recipes.results import draw, markdown, read, rows


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
    together, ice, ridges = rows(written(tmp_path, logs))
    assert together == ["g2p-languages", "ice, 2 together", "WER", "1", "9.00", *[""] * 5]
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
        "11 s, 4 at once",
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
    *parts, mean = rows(written(tmp_path, logs))
    assert len(parts) == 10
    published = sum(float(part[7]) for part in parts) / 10
    assert mean[1:] == [
        "mean of 10",
        "exact",
        "1",
        "45.00",
        "",
        "",
        f"{published:.2f}",
        "",
        "",
    ]


def test_a_picture_is_drawn_of_scores_by_length(tmp_path):
    draw({"cho2014": [log("papers-sounds", "cho2014", 1, 50.0)]}, "right", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
