"""What a setting is for comes from the string under its field, on every page that tells it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from regard.config.checks import at_least
from regard.config.documentation import document, places, settings_markdown, summary, toml_literal
from regard.config.files import FileConfig
from regard.config.model import AttentionConfig, EmbeddingConfig, LuongDecoderConfig, ReadoutConfig
from regard.config.settings import DataConfig, SearchConfig, TextConfig, TrainConfig

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


INNER = SearchConfig()


@dataclass(frozen=True, kw_only=True)
class Base:
    """A section
    of two lines."""

    width: int
    """How wide."""

    share: float = 0.5
    """How much,
    and of what."""


@dataclass(frozen=True, kw_only=True)
class Extended(Base):
    """A section that extends another."""

    width: int = 3
    """How wide, here."""

    names: tuple[Literal["a", "b"], ...] = ("b",)
    """Which ones."""

    count: Annotated[int, at_least(0)] = 0
    """How often."""

    inner: SearchConfig = INNER
    """What is inside."""

    def method(self) -> None:
        """This is no setting."""


def test_a_setting_is_described_by_the_string_under_it():
    assert document(Base) == [
        ("width", "a whole number, at least 1", None, "How wide."),
        ("share", "at least 0 and below 1", "0.5", "How much, and of what."),
    ]


def test_inherited_settings_come_first_and_may_be_redescribed():
    assert document(Extended) == [
        ("width", "a whole number, at least 1", "3", "How wide, here."),
        ("share", "at least 0 and below 1", "0.5", "How much, and of what."),
        ("names", "a list of a or b", '["b"]', "Which ones."),
        ("count", "a whole number, at least 0", "0", "How often."),
        ("inner", "a section", "{}", "What is inside."),
    ]


def test_entries_can_be_accessed_by_name():
    (entry, *_) = document(TrainConfig)
    assert (entry.name, entry.type, entry.default) == ("seed", "a whole number, at least 0", "1")
    assert entry.text == "Random seed: initial weights, order of the pairs, dropout."


def test_a_section_has_a_one_line_description():
    assert summary(Base) == "A section of two lines."


def test_values_are_written_as_toml_writes_them():
    values = [True, 3, 1e-05, 1e16, "h̃", 'a"b\\', ("a", "b")]
    lines = ["true", "3", "1e-05", "1e+16", '"h̃"', '"a\\"b\\\\"', '["a", "b"]']
    assert [toml_literal(value) for value in values] == lines


def test_every_section_has_its_place():
    found = list(places())
    assert [(path, kind) for path, kind, _ in found] == [
        ("data", None),
        ("data.file", None),
        ("text", None),
        ("model", None),
        ("model.source", None),
        ("model.target", None),
        ("model.encoder", "recurrent"),
        ("model.encoder", "convolutional"),
        ("model.encoder", "transformer"),
        ("model.decoder", "plain"),
        ("model.decoder", "cho"),
        ("model.decoder", "bahdanau"),
        ("model.decoder.attention", None),
        ("model.decoder", "luong"),
        ("model.decoder.attention", None),
        ("model.decoder", "convolutional"),
        ("model.decoder", "transformer"),
        ("model.readout", None),
        ("train", None),
        ("search", None),
    ]
    sections = [section for _, _, section in found]
    assert sections[:3] == [DataConfig, FileConfig, TextConfig]
    assert (sections[5], sections[12], sections[13]) == (
        EmbeddingConfig,
        AttentionConfig,
        LuongDecoderConfig,
    )
    assert sections[17:] == [ReadoutConfig, TrainConfig, SearchConfig]


def test_every_setting_has_its_row_on_the_page():
    page = settings_markdown()
    for _, _, section in places():
        assert summary(section) in page
        for entry in document(section):
            default = f"`{entry.default}`" if entry.default else ""
            assert f"| `{entry.name}` | {entry.type} | {default} | {entry.text} |" in page
            assert "|" not in entry.type + entry.text
    assert page.count("## `[model.source]`, `[model.target]`\n") == 1
    assert page.count('## `[model.decoder]` with `kind = "luong"`\n') == 1
    assert page.count("## `[model.decoder.attention]`\n") == 1


def test_the_page_of_settings_is_up_to_date():
    page = settings_markdown()
    assert PAGE.read_text(encoding="utf-8") == page, (
        "docs/settings.md is behind; write settings_markdown() of regard.config.documentation to it"
    )
