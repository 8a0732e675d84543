"""The demos, as people see them."""

from regard.demos import beer, words


def test_words_prints_what_it_learned_with_and_without_p_and_says_why(run):
    answer = run("demo", "words")
    assert answer.code == 0, answer.err
    plain, filled = answer.out.split("filled to five symbols with P:")
    learned = ["man → women", "king → queen", "black → white", "up → down"]
    for line in learned:
        assert f"  {line}\n" in plain
        assert f"  {line}\n" in filled
    assert "  mans → women\n" in filled
    assert "  mans → " in plain
    assert "  mans → women\n" not in plain
    assert words.WHY in answer.out
    assert answer.err.endswith("Next: regard demo beer\n")


def test_beer_draws_its_matrix_and_says_what_one_pair_cannot_teach(run, tmp_path):
    answer = run("demo", "beer", "--seed", "3", "--out", "mine.regard")
    assert answer.code == 0, answer.err
    assert "  ich mochte ein bier → i want a beer\n" in answer.out
    assert "     ich mochte ein bier\n" in answer.out
    assert beer.WHY in answer.out
    assert (tmp_path / "mine.regard").exists()
    again = run("demo", "beer", "--out", "mine.regard")
    assert again.code == 2
    assert "mine.regard: it is there already" in again.err


def test_a_demo_that_there_is_not_is_refused(refused):
    assert refused("demo", "dats") == (
        "regard: demo: name = dats, but it must be dates, words, beer or apples; dates would do\n"
    )
    assert refused("demo", "beer", "--seed", "x") == (
        "regard: demo: seed = x, but it must be a whole number, at least 0\n"
    )
