"""Options from environment variables: --max-lines from REGARD_MAX_LINES."""

from collections.abc import Callable
from copy import copy
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_args, get_origin

from typer.models import OptionInfo

PREFIX = "REGARD_"

Command = Callable[..., None]


def options_from_environment(command: Command) -> Command:
    """Let every option of a command come from a variable; what is typed goes first."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        command(**arguments)

    parameters = [_with_variable(one) for one in signature(command).parameters.values()]
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return run


def _with_variable(parameter: Parameter) -> Parameter:
    annotation = parameter.annotation
    if get_origin(annotation) is not Annotated:
        return parameter
    kind, info = get_args(annotation)
    if not isinstance(info, OptionInfo):
        return parameter
    # other commands have the same option, without a variable
    info = copy(info)
    name = next((x for x in _declarations(info) if x.startswith("--")), parameter.name)
    info.envvar = PREFIX + name.strip("-").replace("-", "_").upper()
    info.show_envvar = False
    return parameter.replace(annotation=Annotated[kind, info])


def _declarations(info: Any) -> list[str]:
    """Return the spellings of an option; typer keeps the first one as its default."""
    return [x for x in (info.default, *(info.param_decls or ())) if isinstance(x, str)]
