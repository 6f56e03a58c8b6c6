"""The document: every route for programs, with what may be sent, what is answered and what is refused."""

import re
from collections.abc import Iterator
from http import HTTPMethod

import msgspec

from tollkeeper import __version__
from tollkeeper.edge.calls import Relayed
from tollkeeper.edge.refusals import ANTHROPIC, DEPRECATED, FORM_PAGE, PUBLIC_PAGE
from tollkeeper.edge.routes import ROUTES, Route
from tools.openapi.answers import answer_schemas, refusal_response, refusal_table
from tools.openapi.operations import EVENTS_TYPE, PATHS, PUBLIC, PathInfo
from tools.openapi.parameters import TEXT, Schema, request_schemas

# Pages for people: forms, a front page, a style.
PAGES = (PUBLIC_PAGE, FORM_PAGE)
CONDITIONS = ("IdempotencyKey", "MaxCharge")
DAYS = ("start_date", "end_date")
DAY: Schema = {"type": "string", "format": "date"}


def openapi_document() -> Iterator[str]:
    """As text, the same for the same code."""
    yield msgspec.json.format(msgspec.json.encode(document()), indent=1).decode()


def document() -> Schema:
    paths: dict[str, Schema] = {}
    for route in described():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, PATHS[route.path])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tollkeeper",
            "version": __version__,
            "summary": "A model gateway that keeps honest books",
            "description": "Amounts that end in `_usd` are texts, exact to the last unit. Parameters that are not "
            "listed are refused with 400 `unsupported_parameter`, unless the operator lets them pass to an account.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "https://gateway.example", "description": "The operator's address"}],
        "security": [{"Key": []}],
        "paths": paths,
        "components": _components(),
    }


def described() -> Iterator[Route]:
    """The routes for programs. What answers GET answers HEAD alike."""
    return (route for route in ROUTES if route.style not in PAGES and route.method != HTTPMethod.HEAD)


def _operation(route: Route, info: PathInfo) -> Schema:
    found: Schema = {
        "operationId": re.sub(r"[^a-z0-9]+", "_", f"{route.method} {route.path}".lower()).strip("_"),
        "tags": [info.tag],
        "summary": info.summary,
        "description": f"{info.notes} Served on the addresses: {', '.join(sorted(route.on))}.".strip(),
        "parameters": list(_parameters(route)),
        "responses": {"200": _answer(route, info)} | {str(status): _refused(route, status) for status in info.statuses},
    }
    if info.sent is not None:
        content: Schema = {info.sent_type: {"schema": _ref("schemas", info.sent)}}
        found["requestBody"] = {"required": True, "content": content}
    if route.style is ANTHROPIC:
        found["security"] = [{"Key": []}, {"KeyHeader": []}]
    if route.style is DEPRECATED:
        found["deprecated"] = True
    if route.style is DEPRECATED or info.statuses is PUBLIC:
        found["security"] = []
    return found


def _parameters(route: Route) -> Iterator[Schema]:
    for name in re.findall(r"{(\w+)}", route.path):
        yield {"name": name, "in": "path", "required": True, "schema": TEXT}
    if isinstance(route.endpoint, Relayed):
        yield from (_ref("parameters", name) for name in CONDITIONS)
    if route.path.endswith("/billing/usage"):
        for name in DAYS:
            yield {"name": name, "in": "query", "schema": DAY}


def _answer(route: Route, info: PathInfo) -> Schema:
    schema: Schema = {"schema": _ref("schemas", info.answered)} if info.answered else {}
    content: dict[str, Schema] = {info.answered_type: schema}
    if info.streams:
        content[EVENTS_TYPE] = {"schema": TEXT}
    headers = {"x-request-id": _ref("headers", "RequestId")}
    if isinstance(route.endpoint, Relayed):
        headers["x-charged-usd"] = _ref("headers", "Charged")
    return {"description": info.summary, "headers": headers, "content": content}


def _refused(route: Route, status: int) -> Schema:
    return _ref("responses", f"{_family(route)}{status}")


def _family(route: Route) -> str:
    return {id(ANTHROPIC): "Messages", id(DEPRECATED): "Deprecated"}.get(id(route.style), "")


def _components() -> Schema:
    used = {(_family(route), status) for route in described() for status in PATHS[route.path].statuses}
    missing = {status for _, status in used} - refusal_table().keys()
    assert not missing, f"no refusal has the statuses {missing}"
    return {
        "schemas": request_schemas() | answer_schemas(),
        "responses": {
            f"{family}{status}": refusal_response(status, f"{family}Error") for family, status in sorted(used)
        },
        "parameters": {
            "IdempotencyKey": _header("Idempotency-Key", "For 24 hours no second call with it is paid for.", 255),
            "MaxCharge": _header("x-max-charge-usd", "The call is never charged more USD than this.", 22),
        },
        "headers": {
            "RequestId": {"description": "Tell support this id.", "schema": TEXT},
            "Charged": {"description": "What the call cost, in USD; whole answers alone have it.", "schema": TEXT},
        },
        "securitySchemes": {
            "Key": {"type": "http", "scheme": "bearer", "description": "An API key of the console."},
            "KeyHeader": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        },
    }


def _header(name: str, about: str, characters: int) -> Schema:
    return {"name": name, "in": "header", "description": about, "schema": TEXT | {"maxLength": characters}}


def _ref(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}
