"""What seldom belongs in a line, and what only looks so."""

import pytest

from regard.data.unusual_characters import KINDS, find_unusual_characters, script_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", {}),
        ("Größe, 我爱吃苹果, naïve", {}),
        ("a\x07b", {"control": "U+0007"}),
        ("a\tb", {"control": "U+0009"}),
        ("a\u2028b\u0085", {"control": "U+0085"}),
        ("zero\u200bwidth", {"invisible": "U+200B"}),
        ("soft\u00adhyphen", {"invisible": "U+00AD"}),
        ("ن\u200cم", {}),
        ("👩\u200d🌾", {}),
        ("b\ufffdd", {"replacement": "U+FFFD"}),
        ("\ue001\ue000", {"private": "U+E000"}),
        ("\u0378", {"unassigned": "U+0378"}),
        (" a", {"spaces": "a space at the start"}),
        ("a  b ", {"spaces": "a space at the end"}),
        ("a  b", {"spaces": "two spaces in a row"}),
        (" é", {"spaces": "a space at the start"}),
        ("a\u00a0b \u3000c", {"spaces": "U+00A0"}),
        ("我\u3000", {"spaces": "U+3000"}),
        ("12\u202f000", {"spaces": "U+202F"}),
        ("\ufeff ", {"invisible": "U+FEFF", "spaces": "a space at the end"}),
        ("e\u0301", {"not_nfc": "U+0065 where NFC has U+00E9"}),
        ("5\u212b", {"not_nfc": "U+212B where NFC has U+00C5"}),
    ],
)
def test_a_line_is_searched_for_unusual_characters(text, expected):
    assert dict(find_unusual_characters(text)) == expected
    assert expected.keys() <= KINDS.keys()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("the c\u0430pital", "c\u0430pital"),
        ("\u0391BC", "\u0391BC"),
        ("один two три", None),
        ("IT-отдел", None),
        ("卡拉OK", None),
        ("東京タワーとTシャツ", None),
        ("θŋk βaχ", None),
        ("x²ªµ", None),
        ("αβγ, abc", None),
    ],
)
def test_a_word_in_two_alphabets_is_reported_and_a_line_is_not(text, word):
    assert dict(find_unusual_characters(text)).get("mixed") == word


def test_a_letter_knows_its_script():
    assert [script_of(x) for x in "aяא我ʰ1"] == ["LATIN", "CYRILLIC", "HEBREW", None, None, None]
