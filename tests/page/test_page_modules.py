"""The page draws by the rules of the terminal and the files: same labels, same colors."""

from pathlib import Path

import numpy as np

import regard.server
from regard.terminal_text import visible_token
from regard.viz.colors import ink, percent, ramp

LABELS = ["", " ", "a b", "\t", "\n", "\x7f", "\u200d", "a\u200db", "\u202e", "\u0301", "e\u0301"]
LABELS += ["▁Je", "我", "خ", "\xa0", "\u3000", "👩\u200d👩", "\ufeffx", "</s>", "<b>"]


def test_labels_are_those_of_the_terminal(visit):
    on_page = visit().page.evaluate(
        "async labels => labels.map((await import('./token_labels.js')).visible)", LABELS
    )
    assert on_page == [visible_token(label) for label in LABELS]


def test_colors_and_percentages_are_those_of_the_files(visit):
    weights = [*np.linspace(-0.1, 1.1, 241).tolist(), 0.005, 0.015, 0.125, 0.375]
    on_page = visit().page.evaluate(
        """async weights => {
            const { ink, ramp } = await import("./colors.js");
            const { percent } = await import("./number_format.js");
            return weights.map(w => [ramp(w), ink(ramp(w)), percent(Math.max(w, 0))]);
        }""",
        weights,
    )
    assert on_page == [[list(ramp(w)), list(ink(ramp(w))), percent(max(w, 0))] for w in weights]


def test_differences_of_two_outputs_are_outside_their_common_subsequence(visit):
    removed, added = visit().page.evaluate(
        """async () => {
            const { tokenDiff } = await import("./token_diff.js");
            const { removed, added } = tokenDiff([..."abcde"], [..."axcey"]);
            return [[...removed], [...added]];
        }"""
    )
    assert (removed, added) == ([1, 3], [1, 4])


def test_a_copied_token_is_sent_back_as_the_unknown_token(visit):
    fields = visit().page.evaluate(
        """async () => {
            const { NO_EDITS, forceOutput, removeChange, replaceToken, requestFields } =
                await import("./edit_history.js");
            const answer = { tokens: ["a", "b", "a"], unknown: [true, false, true], text: "aba" };
            const later = replaceToken(NO_EDITS, answer, 1, "c");
            const first = replaceToken(NO_EDITS, answer, 0, "a");
            const both = replaceToken(first, { tokens: ["a", "b", "b"] }, 2, "c");
            const other = { ...answer, text: "x" };
            return [
                requestFields(later).prefix,
                requestFields(replaceToken(NO_EDITS, answer, 3, null)),
                requestFields(removeChange(both, both.changes[0])).prefix,
                requestFields(replaceToken(both, { tokens: ["a", "b", "c"] }, 0, "a")).prefix,
                requestFields(forceOutput(NO_EDITS, answer, [other, answer])).prefix,
                requestFields(replaceToken(NO_EDITS, { tokens: ["a", "b", "a"] }, 1, "c")).prefix,
            ];
        }"""
    )
    assert fields == [
        [None, "c"],
        {"prefix": [None, "b", None], "max_length": 3},
        [None, "b", "c"],
        # a word that is spelled as the copy is no way back to it
        ["a"],
        [None, "b", None],
        ["a", "c"],
    ]


def test_every_script_and_style_sheet_has_at_most_400_lines():
    folder = Path(regard.server.__file__).parent
    files = [*folder.rglob("*.js"), *folder.rglob("*.css")]
    assert len(files) > 30
    assert not [path.name for path in files if len(path.read_text().splitlines()) > 400]
