"""The operator API as an OpenAPI 3.1 document, made from the office's table."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tollkeeper import __version__
from tollkeeper.console.admin.refusals import STATUSES
from tollkeeper.office.act import Act
from tollkeeper.office.wire import PREFIX, ErrorAnswer

REF = "#/components/schemas/{name}"
Schema = dict[str, Any]
REQUEST_ID: Schema = {"x-request-id": {"description": "Name it when you ask for help.", "schema": {"type": "string"}}}
MEANINGS = {
    400: "The request cannot be read.",
    401: "No operator key, or none that is known.",
    403: "The operator key may not do this, or not from here.",
    404: "What was named does not exist.",
    409: "What was to be made exists already, or the same request is under way.",
    413: "The body is too large.",
    422: "It was refused; the message says why.",
    429: "Too many requests of this key at once.",
    503: "The database is out of reach.",
}


def openapi_json(acts: Sequence[Act[Any, Any]]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document(acts)), indent=1)


def document(acts: Sequence[Act[Any, Any]]) -> Schema:
    kinds = [ErrorAnswer, *(act.result for act in acts), *(act.wish for act in acts)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF)
    results = schemas[1 : 1 + len(acts)]
    paths: dict[str, Schema] = {}
    for act, result in zip(acts, results, strict=True):
        paths.setdefault(act.path, {})[act.method.lower()] = _operation(act, result, components)
    used = {name: schema for name, schema in components.items() if not _is_wish(name, acts)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tollkeeper operator API", "version": __version__},
        "servers": [{"url": PREFIX}],
        "security": [{"operatorKey": []}],
        "paths": paths,
        "components": {
            "schemas": used,
            "securitySchemes": {"operatorKey": {"type": "http", "scheme": "bearer", "bearerFormat": "op-…"}},
        },
    }


def _is_wish(name: str, acts: Sequence[Act[Any, Any]]) -> bool:
    return any(act.wish.__name__ == name for act in acts)


def _operation(act: Act[Any, Any], result: Schema, components: Schema) -> Schema:
    wish = components[act.wish.__name__]
    told: Schema = {
        "operationId": act.name,
        "summary": act.summary,
        "description": f"Scope: `{act.scope.value}`.",
        "parameters": _parameters(act, wish),
        "responses": {"200": _response("Done.", result)} | _refusals(),
    }
    if act.has_body:
        body = {
            "type": "object",
            "properties": {name: wish["properties"][name] for name in act.asked},
            "required": [name for name in wish["required"] if name in act.asked],
            "additionalProperties": False,
        }
        told["requestBody"] = {"required": bool(body["required"]), "content": {"application/json": {"schema": body}}}
    return told


def _parameters(act: Act[Any, Any], wish: Schema) -> list[Schema]:
    found = [_parameter("path", name, wish["properties"][name], required=True) for name in act.in_path]
    if not act.has_body:
        needed = wish["required"]
        found += [_parameter("query", name, wish["properties"][name], required=name in needed) for name in act.asked]
    if act.moves_money:
        key = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"}
        found.append(_parameter("header", "Idempotency-Key", key, required=True))
    return found


def _parameter(place: str, name: str, schema: Schema, *, required: bool) -> Schema:
    return {"in": place, "name": name, "required": required, "schema": schema}


def _refusals() -> Schema:
    error = {"$ref": REF.format(name=ErrorAnswer.__name__)}
    return {str(status): _response(MEANINGS[status], error) for status in STATUSES}


def _response(meaning: str, schema: Schema) -> Schema:
    return {"description": meaning, "headers": REQUEST_ID, "content": {"application/json": {"schema": schema}}}
