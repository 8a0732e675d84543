"""Error messages about outputs and references."""

from regard.choices import wrong_value


def wrong_line_count(what: str, count: int, num_references: int) -> str:
    """Say that outputs and references differ in number."""
    requirement = f"{num_references}, the number of lists of references"
    return wrong_value(f"the number of lines of {what}", count, requirement)


def no_lines(what: str) -> str:
    """Say that there is nothing to score."""
    return wrong_value(f"the number of lines of {what}", 0, "at least 1")


def references_not_a_list(number: int, text: str) -> str:
    """Say that references of a line are one text."""
    name = f"references of line {number}"
    return wrong_value(name, text, "a list of texts", f"Write [{text}].")


def no_references(number: int) -> str:
    """Say that a line has no reference."""
    return wrong_value(f"references of line {number}", "[]", "a list of at least one text")


def not_a_whole_number(name: str, text: object, least: int) -> str:
    """Say that a setting must be a whole number."""
    return wrong_value(name, text, f"a whole number, at least {least}")
