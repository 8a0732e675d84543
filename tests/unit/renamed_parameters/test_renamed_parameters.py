"""Parameters of earlier versions: read under the names that they have today."""

from regard.renamed_parameters import with_new_names


def test_an_old_name_becomes_the_new_one():
    old = {"decoder.first.W_s.0.weight": 1, "decoder.first.W_s.0.weight/exp_avg": 2}
    assert with_new_names(old) == {
        "decoder.initial_state.W_s.0.weight": 1,
        "decoder.initial_state.W_s.0.weight/exp_avg": 2,
    }


def test_other_names_stay():
    names = ["decoder.initial_state.W_s.0.weight", "decoder.firsts", "x.decoder.first.W", ""]
    assert list(with_new_names(dict.fromkeys(names))) == names
