"""The page draws by the rules of the terminal and the files: same labels, same colors."""

import numpy as np

from regard.terminal_text import visible_token
from regard.viz.colors import ink, percent, ramp

LABELS = ["", " ", "a b", "\t", "\n", "\x7f", "\u200d", "a\u200db", "\u202e", "\u0301", "e\u0301"]
LABELS += ["▁Je", "我", "خ", "\xa0", "\u3000", "👩\u200d👩", "\ufeffx", "</s>", "<b>"]


def test_labels_are_those_of_the_terminal(visit):
    shown = visit().page.evaluate(
        "async labels => labels.map((await import('./labels.js')).visible)", LABELS
    )
    assert shown == [visible_token(label) for label in LABELS]


def test_colors_and_percentages_are_those_of_the_files(visit):
    weights = [*np.linspace(-0.1, 1.1, 241).tolist(), 0.005, 0.015, 0.125, 0.375]
    shown = visit().page.evaluate(
        """async weights => {
            const { ink, percent, ramp } = await import("./colors.js");
            return weights.map(w => [ramp(w), ink(ramp(w)), percent(Math.max(w, 0))]);
        }""",
        weights,
    )
    assert shown == [[list(ramp(w)), list(ink(ramp(w))), percent(max(w, 0))] for w in weights]


def test_two_outputs_differ_in_what_no_common_subsequence_holds(visit):
    lost, gained = visit().page.evaluate(
        """async () => {
            const { difference } = await import("./difference.js");
            const { lost, gained } = difference([..."abcde"], [..."axcey"]);
            return [[...lost], [...gained]];
        }"""
    )
    assert (lost, gained) == ([1, 3], [1, 4])


def test_a_copy_is_sent_back_as_the_unknown_symbol_it_stands_for(visit):
    asked = visit().page.evaluate(
        """async () => {
            const { NONE, asked, drop, take, whole } = await import("./edits.js");
            const answer = { tokens: ["a", "b", "a"], unknown: [true, false, true], text: "aba" };
            const later = take(NONE, answer, 1, "c");
            const both = take(take(NONE, answer, 0, "a"), { tokens: ["a", "b", "b"] }, 2, "c");
            const other = { ...answer, text: "x" };
            return [
                asked(later).prefix,
                asked(take(NONE, answer, 3, null)),
                asked(drop(both, both.changes[0])).prefix,
                asked(take(both, { tokens: ["a", "b", "c"] }, 0, "a")).prefix,
                asked(whole(NONE, answer, [other, answer])).prefix,
                asked(take(NONE, { tokens: ["a", "b", "a"] }, 1, "c")).prefix,
            ];
        }"""
    )
    assert asked == [
        [None, "c"],
        {"prefix": [None, "b", None], "max_length": 3},
        [None, "b", "c"],
        # a word that is spelled as the copy is no way back to it
        ["a"],
        [None, "b", None],
        ["a", "c"],
    ]
