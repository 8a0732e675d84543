"""The demos, as people see them."""

import re
from dataclasses import replace

from regard.demos import apples, beer, dates, words


def shortened(monkeypatch, demo, steps):
    """Let a demo end after a few updates: what it says is to be seen, not what it has learned."""
    whole = demo.settings

    def settings(seed):
        made = whole(seed)
        few = {"max_steps": steps, "validate_every": steps, "report_every": steps}
        return replace(made, train=replace(made.train, **few))

    monkeypatch.setattr(demo, "settings", settings)


def test_dates_counts_every_format_and_prints_examples_and_attention(run, monkeypatch):
    shortened(monkeypatch, dates, 3)
    for name, every in (("pairs", 50), ("dev_pairs", 50), ("unseen", 400)):
        whole = getattr(dates, name)
        monkeypatch.setattr(dates, name, lambda seed, f=whole, n=every: f(seed)[::n])
    answer = run("demo", "dates", "--seed", "2")
    assert answer.code == 0, answer.err
    counted = r"\d+\.\d\d % of the dates of 1,000 held-out days are correct, in 85 formats of "
    assert re.search(counted + r"24 locales; the lowest is \d+\.\d %, for \w+ \w+", answer.out)
    assert all(f"  {source} → " in answer.out for source, _ in dates.examples(2))
    assert "█ 100 %" in answer.out
    assert dates.WHY in answer.out
    assert answer.err.splitlines()[-2].startswith("Next: regard show demo-dates.regard ")
    assert answer.err.endswith("Next: regard demo apples\n")


def test_apples_counts_unseen_sentences_and_draws_attention(run, monkeypatch):
    shortened(monkeypatch, apples, 3)
    monkeypatch.setattr(apples, "unseen", lambda whole=apples.unseen: whole()[:50])
    answer = run("demo", "apples")
    assert answer.code == 0, answer.err
    assert re.search(r"\d+ of 50 held-out sentences are correct\n", answer.out)
    assert "  我爱吃苹果 → " in answer.out
    assert re.search("^ +我  爱  吃  苹  果$", answer.out, re.MULTILINE)
    assert apples.WHY in answer.out
    assert "Next: regard show demo-apples.regard " in answer.err


def test_words_prints_outputs_with_and_without_p_and_explains(run):
    answer = run("demo", "words")
    assert answer.code == 0, answer.err
    plain, filled = answer.out.split("padded to five tokens with P:")
    learned = ["man → women", "king → queen", "black → white", "up → down"]
    for line in learned:
        assert f"  {line}\n" in plain
        assert f"  {line}\n" in filled
    assert "  mans → women\n" in filled
    assert "  mans → " in plain
    assert "  mans → women\n" not in plain
    assert words.WHY in answer.out
    assert answer.err.endswith("Next: regard demo beer\n")


def test_beer_draws_its_matrix_and_explains_the_limits_of_one_pair(run, tmp_path):
    answer = run("demo", "beer", "--seed", "3", "--out", "mine.regard")
    assert answer.code == 0, answer.err
    assert "  ich mochte ein bier → i want a beer\n" in answer.out
    assert "     ich mochte ein bier\n" in answer.out
    assert beer.WHY in answer.out
    assert (tmp_path / "mine.regard").exists()
    again = run("demo", "beer", "--out", "mine.regard")
    assert again.code == 2
    assert "mine.regard: it exists and must not be lost" in again.err


def test_an_unknown_demo_is_refused(refused):
    assert refused("demo", "dats") == (
        "regard: demo: name is dats; it must be dates, words, beer or apples. Did you mean dates?\n"
    )
    assert refused("demo", "beer", "--seed", "x") == (
        "regard: demo: seed is x; it must be a whole number, at least 0.\n"
    )
