"""Sentences about settings, each in one place."""

from collections.abc import Iterable

from regard.choices import either, printable, wrong_value


def unknown_setting(name: str, suggestions: Iterable[str] = (), *, noun: str = "setting") -> str:
    """Say that there is no such setting or section, and which ones may be meant."""
    names = list(dict.fromkeys(suggestions))
    return f"Unknown {noun} {name}." + (f" Did you mean {either(names)}?" if names else "")


def setting_of_another_kind(name: str, kind: str, kinds: Iterable[str]) -> str:
    """Say that a section of this kind has no such setting, but that other kinds have it."""
    return f"Unknown setting {name} for kind = {kind}. Only kind = {either(kinds)} has it."


def renamed_setting(old: str, new: str) -> str:
    """Say the new name of a setting."""
    return f"{old} is now {new}."


def renamed_value(setting: str, old: str, new: str) -> str:
    """Say the new name of a value."""
    return f'{setting} = "{old}" is now "{new}".'


def old_and_new_setting(old: str, new: str) -> str:
    """Say that a setting is given twice, under its old and its new name."""
    return f"{old} is now {new}, but both are given. Remove {old}."


def missing_setting(name: str, requirement: str) -> str:
    """Say that a setting without a default is missing."""
    return f"{name} is missing; it must be {requirement}."


def missing_section(name: str) -> str:
    """Say that a section is missing; all of its settings have defaults."""
    return f"{name} is missing. Add a section [{name}]."


def missing_class(name: str, value: str, module: str, *, is_imported: bool) -> str:
    """Say that a `module:Class` names no class, or that its module is not imported."""
    problem = "has no such class" if is_imported else "is not imported. Import it first"
    return f"{name} is {value}, but the module {module} {problem}."


def missing_extension(kind: str, name: str, module: str) -> str:
    """Say which extension a model file needs."""
    return f'it needs the {kind} "{name}" from the module {module}. Import that module first.'


def wrong_columns(text: str) -> str:
    """Say how columns are named."""
    requirement = "columns of both sides, by number or name"
    return wrong_value("columns", printable(text), requirement, "Write source=1,3 target=2.")


def wrong_group(text: str) -> str:
    """Say how the columns of a group are named."""
    return wrong_value("group_by", printable(text), "columns by number or name", "Write 1 or 1,3.")


def wrong_delimiter(text: str) -> str:
    """Say what separates columns."""
    return wrong_value("delimiter", printable(text), "tab, or one character such as ;")


def wrong_encoding(name: str) -> str:
    """Say that Python knows no such encoding."""
    requirement = "the name of an encoding, such as utf-8, utf-16, cp1250, latin-1 or gb18030"
    return wrong_value("encoding", printable(name), requirement)


def reversed_and_bidirectional() -> str:
    """Say that a bidirectional encoder reads the source reversed anyway."""
    problem = "reversed_source is true, but bidirectional = true reads both directions anyway."
    return f"{problem} Set reversed_source = false."


def even_kernel_size(size: int) -> str:
    """Say that a kernel size must be odd."""
    return wrong_value("kernel_size", size, "odd", f"Set kernel_size = {size + 1}.")


def heads_do_not_divide(num_heads: int, model_size: int) -> str:
    """Say that heads must divide the model size, and suggest a model size near it."""
    near = num_heads * max(1, model_size // num_heads)
    requirement = f"a divisor of model_size = {model_size}"
    return wrong_value("num_heads", num_heads, requirement, f"Set model_size = {near}.")


def odd_head_of_rotary(num_heads: int, model_size: int) -> str:
    """Say that rotary positions rotate pairs, so the width of a head must be even."""
    return (
        f"attention_positions is rotary, but model_size / num_heads = {model_size // num_heads} "
        f"is odd; it must be even. Set model_size = {model_size + num_heads}."
    )


def coverage_of_another_score(score: str) -> str:
    """Say that only one score has coverage."""
    return (
        f"coverage is true, but score = {score} has no coverage; only the additive score has. "
        "Set score = additive."
    )


def nothing_to_feed() -> str:
    """Say that input feeding needs h̃."""
    return (
        "input_feeding is true, but attentional = false computes no h̃ to feed. "
        "Set attentional = true."
    )


def wrong_inputs(inputs: list[str]) -> str:
    """Say that a readout needs inputs, each once."""
    return f"inputs is {inputs}; it must name at least one input, each once."


def above_limit(name: str, number: int, limit_name: str, limit: int) -> str:
    """Say that a setting exceeds another setting."""
    requirement = f"at most {limit_name} = {limit}"
    return wrong_value(name, number, requirement, f"Set {limit_name} = {number}.")


def too_many_positions(max_length: int, limit: int, size: int) -> str:
    """Say that a table of sinusoidal positions would be too large."""
    requirement = f"at most {limit} for sinusoidal positions of size = {size}"
    return wrong_value("max_length", max_length, requirement)


def too_large_with_beam(name: str, number: int, limit: int, beam_size: int) -> str:
    """Say that a setting is too large for a large beam."""
    return wrong_value(name, number, f"at most {limit} with beam_size = {beam_size}")


def temperature_too_low(temperature: float, minimum: float) -> str:
    """Say that logits divided by a tiny temperature could overflow."""
    return wrong_value("temperature", temperature, f"0 or at least {minimum}")


def not_toml(position: str, problem: str) -> str:
    """Say where a text is not TOML."""
    return f"it is not TOML at {position}: {problem}."


HUGE_NUMBER = "a number in it has thousands of digits. Write a number within 64 bits."
NESTED_TOO_DEEPLY = "its tables or lists are nested too deeply."


def not_an_assignment(assignment: str) -> str:
    """Say how to write an assignment on the command line."""
    return f"{assignment} is not an assignment. Write section.setting=value: train.seed=2."


def not_a_section(assignment: str, outer: str, instead: str) -> str:
    """Say that an assignment uses a setting as a section."""
    return f"{assignment} is refused: {outer} is not a section. Write {instead}."


def wrong_tag_separators(separators: str) -> str:
    """Say that tags cannot be split at these characters."""
    text = printable(separators)
    return wrong_value("tag_separators", text, "signs that are not letters, digits or spaces")
