"""All sentences of the server, in one place for translation.

Descriptions of fields are in the schemas, help texts of metrics with the metrics.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from regard.choices import printable

APP_DESCRIPTION = "Translates sequences into sequences and returns the attention of each token."
STATUS_DESCRIPTIONS = {
    200: "Success.",
    413: "The request or its response is too large.",
    415: "The body is not JSON in UTF-8.",
    421: "The request is meant for another host.",
    422: "The request is invalid; `detail` says what to change.",
    429: "The queue is full; retry after the given number of seconds.",
    500: "Internal error; the server log has the details.",
    503: "The server is stopping.",
    504: "The request missed its deadline.",
}
RETRY_AFTER = "Seconds to wait before the next attempt."
ROUTE_SUMMARIES = {
    "translate": "Translate lines.",
    "rescore": "Score given targets.",
    "models": "List the served models and the limits.",
    "healthz": "Report that the server is running.",
    "readyz": "Report whether the server accepts requests.",
    "metrics": "Return the metrics in the Prometheus format.",
}
METRICS_DESCRIPTION = "Metrics in the Prometheus text format."

API_DOCS_TITLE = "{title}: the API"
API_DOCS_OPENAPI = "The same for programs:"
API_DOCS_SCHEMAS = "Schemas"
API_DOCS_BODY = "Body: {schema}, for example"
API_DOCS_ANSWER = "Example of a response: a model that reverses digits answers"
API_DOCS_PROBLEM = "Example of a refusal, status {status}"
API_DOCS_TRY = "Try it"
API_DOCS_TRY_BODY = "Body of {name}"
API_DOCS_SEND = "Send"
API_DOCS_NO_SCRIPT = "To try the API on this page, enable JavaScript."
API_DOCS_RESPONSE_COLUMNS = ("status", "response", "meaning")
API_DOCS_FIELD_COLUMNS = ("field", "type", "meaning")
API_DOCS_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "maxLength": "at most {:,} characters",
    "maxItems": "at most {:,}",
}

INTERNAL_ERROR = "An internal error occurred; the server log has the details. Try again later."
LOG_REQUEST_FAILED = "a request failed with an internal error"
LOG_LINE_FAILED = "a line failed with an internal error"
LOG_RELOADED = "loaded a new version of a model"
LOG_NOTHING_TO_RELOAD = "no model file has changed; nothing to reload"
LOG_RELOAD_FAILED = "The reload failed, and the old models go on serving. {reason}"
FILE_KEEPS_CHANGING = "it changed while it was loaded. Write it elsewhere, then rename it."
CLIENT_DISCONNECTED = "The client disconnected before the response was ready."
STOPPING = "The server is stopping."
STOPPING_NO_REQUESTS = "The server is stopping and accepts no requests. Try again later."
WRONG_HOST = (
    "The Host header does not name this server. Use the server's own address, "
    "or allow the name with --allow-host."
)
PATH_NOT_FOUND = "There is nothing at this path. See /docs for the paths that exist."
UNREADABLE_REQUEST = "The request cannot be read."
NO_MODELS = "There is no model to serve. Pass at least one model."

BODY_NOT_OBJECT = 'The body must be a JSON object, for example {"text": "…"}.'

EXPECTED = {
    "string_type": "a string",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    "string_pattern_mismatch": "a step, counted from 0",
    "greater_than_equal": "at least {ge}",
    "greater_than": "above {gt}",
    "less_than_equal": "at most {le}",
}
"""What a field must be, by the type of pydantic's error."""


def one_line(text: str) -> str:
    """Join the sentences of several lines."""
    *lines, last = text.split("\n")
    return " ".join([*(line if line.endswith(".") else f"{line};" for line in lines), last])


# requests


def invalid_json(reason: str) -> str:
    """Say where the JSON of a body breaks."""
    return f"The body is not valid JSON: {reason}."


def unknown_field(field: str, nearest: str) -> str:
    """Name the known field that is spelled most like it."""
    return f"Unknown field {field}. Did you mean {nearest}?"


def missing_field(field: str) -> str:
    """Name a required field."""
    return f"{field} is missing; it is required."


def wrong_field(field: str, text: str, expected: Iterable[str]) -> str:
    """Say what a field is and what it must be."""
    return f"{field} is {text}; it must be {' or '.join(expected)}."


def expectation(error_type: str, context: Mapping[str, Any]) -> str:
    """Say what a field must be, from the type of pydantic's error."""
    return EXPECTED.get(error_type, "something else").format(**context).replace("'", "")


def above_limit(field: str, number: float, limit: float) -> str:
    """Say which number is too large."""
    return f"{field} is {number}; it must be at most {limit}."


def temperature_too_low(temperature: float, minimum: float) -> str:
    """Say which temperatures a search can use."""
    return f"temperature is {temperature}; it must be 0 or at least {minimum}."


def unknown_model(name: str, names: Iterable[str]) -> str:
    """List the served models."""
    return f"model is {name[:60]!r}; it must be one of the served models: {', '.join(names)}."


def too_many(what: str, count: int, limit: int) -> str:
    """Say that a request has too many lines or pairs."""
    return (
        f"The request has {count:,} {what}; it must have at most {limit:,}. "
        "Split it into several requests."
    )


def too_long(where: str, count: int, unit: str, limit: int) -> str:
    """Say which text has too many characters or tokens."""
    return f"{where} has {count:,} {unit}; it must have at most {limit:,}. Shorten it."


def numbered(what: str, number: int, count: int) -> str:
    """Name one of several lines, sources or targets; a single one needs no number."""
    return f"{what.capitalize()} {number}" if count > 1 else f"The {what}"


def empty_token(where: str) -> str:
    """Say where an empty token stands."""
    return f"{where} contains an empty token. Remove it."


def blank_source(number: int) -> str:
    """Say which source cannot be scored."""
    return f"Source {number} is blank; it must contain text. Remove the pair."


def body_too_large(limit: int) -> str:
    """Say how large a body may be."""
    return f"The body is larger than {limit:,} bytes. Send fewer lines per request."


def wrong_content_type(content_type: str | None) -> str:
    """Say which Content-Type a body must have."""
    state = "missing" if content_type is None else content_type[:60]
    return f"Content-Type is {state}; it must be application/json in UTF-8."


def wrong_content_encoding(encoding: str) -> str:
    """Say that a body must not be compressed."""
    return f"Content-Encoding is {encoding[:60]}; it must be identity. Send the body uncompressed."


def method_not_allowed(method: str, allowed: str | None) -> str:
    """Name the method that a path allows."""
    return f"{method} is not allowed here. Use {allowed}."


# load


def queue_full(waiting: int, lines: int, limit: int) -> str:
    """Say why a request is not queued."""
    return (
        f"The queue is full: {waiting:,} lines wait, the request has {lines:,}, "
        f"and the limit is {limit:,}. Try again later."
    )


def too_many_open_requests(count: int) -> str:
    """Say that no more requests are read at the moment."""
    return f"{count:,} requests are already open. Try again later."


def deadline_exceeded(seconds: float) -> str:
    """Say how long a request may take."""
    return f"The request took longer than {seconds:g} seconds. Send fewer lines per request."


def response_too_large(limit: int, only_line: bool, field: str | None) -> str:
    """Say how to get a smaller response; `field` is the largest that was requested."""
    remedy = "Send fewer lines per request"
    if only_line:
        without = f", or request it without {field}" if field else ""
        remedy = f"Send a shorter line{without}"
    return f"The response is larger than {limit:,} bytes. {remedy}."


# the address to listen on, and who may call


def not_an_origin(origin: str) -> str:
    """Say how an origin is written."""
    text = printable(origin)
    return f"allow-origin is {text}; it must be an origin such as https://example.org."


def unknown_host(host: str) -> str:
    """Say that the host is not this machine's."""
    return f"host is {host}; it must be an address or name of this machine, such as 127.0.0.1."


def port_in_use(port: int) -> str:
    """Say how to get a free port."""
    return f"port is {port}, which is in use. Use port 0 to get a free one."


def port_forbidden(port: int) -> str:
    """Say which ports need no privileges."""
    return f"port is {port}, which this user may not use. Use a port above 1023, such as 8000."
