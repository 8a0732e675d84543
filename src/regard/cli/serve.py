"""`regard serve`: serves models over HTTP, with a page to play with."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import messages, options
from regard.cli.options import Device, Import, file_argument, whole_number
from regard.config.documentation import document
from regard.errors import ConfigError
from regard.server.limits import Limits

if TYPE_CHECKING:
    from regard.translator import Translator

REQUIRED_PACKAGES = ("fastapi", "uvicorn", "prometheus_client")
"""The packages of the extra `serve`."""

AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Another Host name to accept, besides this machine's own; repeatable. Without it, "
        "a server that other machines can reach accepts any name. /healthz, /readyz and "
        "/metrics always accept any name.",
    ),
]


def limit_option(name: str, metavar: str = "N") -> Any:
    """Return the option of a limit, with the limit's documentation and default as help."""
    entry = next(entry for entry in document(Limits) if entry.name == name)
    help_ = f"{entry.text} Default: {entry.default}."
    option = f"--max-{name}" if name != "batch_lines" else "--batch-lines"
    return typer.Option(option.replace("_", "-"), metavar=metavar, help=help_, show_default=False)


def serve(
    models: Annotated[
        list[Path],
        file_argument(
            "MODEL", "Model files; each is served under its file name without the ending."
        ),
    ],
    host: Annotated[
        str,
        typer.Option(metavar="NAME", help="The address to listen on; 0.0.0.0 for all interfaces."),
    ] = "127.0.0.1",
    port: Annotated[str, whole_number("port", "The port; 0 picks a free one.", 0)] = "8000",
    allow_host: AllowHost = None,
    bytes_: Annotated[str | None, limit_option("bytes")] = None,
    lines: Annotated[str | None, limit_option("lines")] = None,
    characters: Annotated[str | None, limit_option("characters")] = None,
    seconds: Annotated[str | None, limit_option("seconds", "X")] = None,
    queue_lines: Annotated[str | None, limit_option("queue_lines")] = None,
    batch_lines: Annotated[str | None, limit_option("batch_lines")] = None,
    beam_size: Annotated[str | None, limit_option("beam_size")] = None,
    length: Annotated[str | None, limit_option("length")] = None,
    answer_bytes: Annotated[str | None, limit_option("answer_bytes")] = None,
    stall_seconds: Annotated[str | None, limit_option("stall_seconds", "X")] = None,
    device: Device = "auto",
    import_: Import = None,
) -> None:
    """Serve models over HTTP, with a page to play with.

    Ctrl-C or SIGTERM stops it; accepted requests are finished first.
    """
    limit_options = options.parse_settings(
        bytes=bytes_,
        lines=lines,
        characters=characters,
        seconds=seconds,
        queue_lines=queue_lines,
        batch_lines=batch_lines,
        beam_size=beam_size,
        length=length,
        answer_bytes=answer_bytes,
        stall_seconds=stall_seconds,
    )
    limits = Limits(**limit_options)
    _check_arguments(models, port)
    from regard.server import uvicorn_server
    from regard.server.app import create_app

    with uvicorn_server.bind(host, int(port)) as listener:
        translators = _load(models, device)
        app = create_app(
            translators, limits, uvicorn_server.allowed_hosts(listener, host, allow_host or [])
        )
        url = uvicorn_server.server_url(listener)
        uvicorn_server.serve(app, listener, lambda: _print_url(list(translators), url))


def _check_arguments(models: Sequence[Path], port: str) -> None:
    if int(port) > 65535:
        raise ConfigError("serve", [messages.port_too_high(port)])
    if missing := [name for name in REQUIRED_PACKAGES if find_spec(name) is None]:
        raise ConfigError("serve", [messages.server_package_missing(missing[0])])
    by_name: dict[str, Path] = {}
    for path in models:
        if path.stem in by_name:
            problem = messages.same_model_name(by_name[path.stem], path)
            raise ConfigError("serve", [problem])
        by_name[path.stem] = path


def _load(models: Sequence[Path], device: str) -> "dict[str, Translator]":
    from regard.translator import load

    return {path.stem: load(path, device=device) for path in models}


def _print_url(names: Sequence[str], address: str) -> None:
    print(f"{', '.join(names)} at {address} (Ctrl-C stops)", flush=True)
    arguments = ("-H", "Content-Type: application/json", "-d", '{"text": "…"}')
    options.hint("curl", *arguments, f"{address}/v1/translate")
