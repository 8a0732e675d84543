"""`regard serve`: serves models over HTTP, with a page to play with."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from regard.cli import messages, options
from regard.cli.environment import options_from_environment
from regard.cli.options import Device, Import, choice, whole_number
from regard.config.documentation import document
from regard.errors import ConfigError
from regard.server.limits import Limits

REQUIRED_PACKAGES = ("fastapi", "uvicorn", "prometheus_client")
"""The packages of the extra `serve`."""

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME=]MODEL",
        envvar="REGARD_MODELS",
        show_envvar=False,
        show_default=False,
        help="Model files, the default first. Without NAME, a model has its file's name without "
        "the ending.",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Another Host name to accept, besides this machine's own; repeatable. Without it, "
        "a server that other machines can reach accepts any name. /healthz, /readyz and "
        "/metrics always accept any name.",
    ),
]

AllowOrigin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ORIGIN",
        help="An origin, such as https://example.org, whose pages may call the server (CORS); "
        "repeatable. Without it, only the server's own page may.",
    ),
]
LogLevel = Annotated[
    str,
    choice(
        "log-level",
        "Least level of log entries on stderr: info has every request but health checks.",
        *("debug", "info", "warning", "error"),
    ),
]
LogFormat = Annotated[
    str, choice("log-format", "Format of log entries: a line of text, or of JSON.", "text", "json")
]
LogTexts = Annotated[
    bool,
    typer.Option("--log-texts", help="Log sources and outputs too. Without it, no text is logged."),
]


def limit_option(name: str, metavar: str = "N") -> Any:
    """Return the option of a limit, with the limit's documentation and default as help."""
    entry = next(entry for entry in document(Limits) if entry.name == name)
    help_ = f"{entry.text} Default: {entry.default}."
    option = f"--max-{name}" if name != "batch_lines" else "--batch-lines"
    return typer.Option(option.replace("_", "-"), metavar=metavar, help=help_, show_default=False)


@options_from_environment
def serve(
    models: Models,
    host: Annotated[
        str,
        typer.Option(metavar="NAME", help="The address to listen on; 0.0.0.0 for all interfaces."),
    ] = "127.0.0.1",
    port: Annotated[str, whole_number("port", "The port; 0 picks a free one.", 0)] = "8000",
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
    log_level: LogLevel = "info",
    log_format: LogFormat = "text",
    log_texts: LogTexts = False,
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

    Ctrl-C or SIGTERM stops it; accepted requests are finished first. SIGHUP loads changed model
    files, without a pause. Each option may come from a variable: --max-lines from
    REGARD_MAX_LINES; the models from REGARD_MODELS.
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
    files = _check_arguments(models, port)
    from regard.server import logs, uvicorn_server
    from regard.server.app import create_app

    with uvicorn_server.bind(host, int(port)) as listener:
        app = create_app(
            files,
            limits,
            uvicorn_server.allowed_hosts(listener, host, allow_host or []),
            allow_origins=allow_origin or [],
            log_texts=log_texts,
            device=device,
        )
        logs.configure_logging(log_level, cast(Literal["text", "json"], log_format))
        url = uvicorn_server.server_url(listener)
        uvicorn_server.serve(app, listener, lambda: _print_url(list(files), url))


def _check_arguments(models: Sequence[str], port: str) -> Mapping[str, Path]:
    """Return the model files by name; refuse what cannot work before anything is loaded."""
    if int(port) > 65535:
        raise ConfigError("serve", [messages.port_too_high(port)])
    if missing := [name for name in REQUIRED_PACKAGES if find_spec(name) is None]:
        raise ConfigError("serve", [messages.server_package_missing(missing[0])])
    files: dict[str, Path] = {}
    for text in models:
        # an = before any folder ends a name
        name, equals, path = text.partition("=")
        if not equals or "/" in name or Path(text).exists():
            name, path = Path(text).stem, text
        if not name or not path:
            raise ConfigError("serve", [messages.wrong_model_name(text, path or "FILE")])
        if name in files:
            raise ConfigError("serve", [messages.same_model_name(name, str(files[name]), path)])
        files[name] = Path(path)
    return files


def _print_url(names: Sequence[str], address: str) -> None:
    print(f"{', '.join(names)} at {address} (Ctrl-C stops)", flush=True)
    arguments = ("-H", "Content-Type: application/json", "-d", '{"text": "…"}')
    options.hint("curl", *arguments, f"{address}/v1/translate")
