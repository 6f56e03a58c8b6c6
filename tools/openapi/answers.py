"""What comes back: schemas of our own answers, and of refusals.

Answers of models pass as the protocols of their vendors define them: of those, what callers rely on is written
down. A test compares these schemas with what a running gateway sends.
"""

import inspect
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tollkeeper.core.errors import GatewayError
from tollkeeper.edge.shapes import MESSAGES_ERRORS
from tools.openapi.parameters import LIST, NUMBER, OBJECT, TEXT, WHOLE, Schema
from tools.refusals import refusals

USD: Schema = {"type": "string", "pattern": r"^\d+\.\d{3,}$", "description": "USD, exact to the last unit."}
MAYBE_USD: Schema = {"type": ["string", "null"]}
MOMENT: Schema = {"type": "string", "format": "date-time"}
UNIX: Schema = {"type": "integer", "description": "Seconds since 1970."}


def answer_schemas() -> dict[str, Schema]:
    """By name, for `components`."""
    return {
        "ChatCompletion": _object({"choices": LIST}, id=TEXT, model=TEXT, usage=OBJECT),
        "Message": _object({"content": LIST, "role": TEXT, "usage": OBJECT}, id=TEXT, model=TEXT, stop_reason={}),
        "Response": _object({"output": LIST}, id=TEXT, status=TEXT, usage={}),
        "Embeddings": _object({"data": LIST}, usage=OBJECT),
        "Images": _object({"data": LIST}, created=WHOLE),
        "Transcript": _object({"text": TEXT}),
        "TokenCount": _object({"input_tokens": WHOLE}),
        "Model": _object({"id": TEXT, "object": _is("model"), "created": UNIX, "owned_by": TEXT}),
        "ModelList": _object({"object": _is("list"), "data": {"type": "array", "items": _ref("Model")}}),
        "Subscription": _object(
            {"object": _is("billing_subscription"), "access_until": UNIX}
            | dict.fromkeys(("soft_limit_usd", "hard_limit_usd", "system_hard_limit_usd"), NUMBER)
        ),
        "BilledUsage": _object({"object": _is("list"), "daily_costs": LIST, "total_usage": _in_cents()}),
        "Balance": _object({"type": {"enum": ["account", "token"]}, "balance": _ref("Cash"), "timestamp": UNIX}),
        "Cash": _object(dict.fromkeys(("remained_cash", "used_cash", "held_cash"), NUMBER) | {"currency": _is("USD")}),
        "DeprecatedBalance": _object({"Status": _is(1)} | dict.fromkeys(("Total", "Used", "Remaining"), NUMBER)),
        "Quote": _object(
            {"object": _is("quote"), "endpoint": TEXT, "model": TEXT, "unit": TEXT, "input": WHOLE}
            | {"output": _object({"likely": WHOLE, "most": WHOLE})}
            | dict.fromkeys(("least_usd", "likely_usd", "most_usd", "held_usd"), USD)
        ),
        "Call": _call(),
        "PriceFeed": _object(
            {"version": TEXT, "title": TEXT, "items": LIST, "_group_multiplier": TEXT, "_models": LIST}
        ),
    } | _error_schemas()


def _call() -> Schema:
    line = _object({"name": TEXT, "units": WHOLE, "usd": USD})
    return _object(
        {"id": TEXT, "object": _is("call"), "state": {"enum": ["running", "settled"]}, "started_at": MOMENT}
        | {"held_usd": USD, "charged_usd": MAYBE_USD},
        **dict.fromkeys(("model", "kind", "ending", "explanation", "formula"), TEXT),
        settled_at=MOMENT,
        usage=_object({"input": WHOLE, "cached": WHOLE, "output": WHOLE}),
        lines={"type": "array", "items": line},
        written_off_usd=USD,
    )


def _error_schemas() -> dict[str, Schema]:
    told = _object({"message": TEXT, "type": TEXT, "param": {"type": ["string", "null"]}, "code": TEXT}, receipt=OBJECT)
    kinds = sorted({*MESSAGES_ERRORS.values(), "api_error", "billing_error", "invalid_request_error"})
    of_messages = _object({"type": {"enum": kinds}, "message": TEXT}, receipt=OBJECT)
    return {
        "Error": _object({"error": told}),
        "MessagesError": _object({"type": _is("error"), "error": of_messages, "request_id": TEXT}),
        "DeprecatedError": _object({"Status": _is(0), "Error": TEXT}),
    }


def refusal_table() -> Mapping[int, Sequence[type[GatewayError]]]:
    """The refusals by status."""
    found: dict[int, list[type[GatewayError]]] = defaultdict(list)
    for refusal in refusals():
        found[refusal.status].append(refusal)
    return found


def refusal_response(status: int, schema: str) -> Schema:
    """A refusal of a status: which codes there are, and in words what each means."""
    lines = [f"* `{each.code}`: {_words(each)}" for each in refusal_table()[status]]
    return {
        "description": "\n".join(lines),
        "headers": {"x-request-id": {"$ref": "#/components/headers/RequestId"}},
        "content": {"application/json": {"schema": _ref(schema)}},
    }


def _words(refusal: type[GatewayError]) -> str:
    return " ".join(inspect.cleandoc(refusal.__doc__ or "").split())


def _object(required: Mapping[str, object], **more: object) -> Schema:
    return {"type": "object", "properties": {**required, **more}, "required": sorted(required)}


def _is(value: object) -> Schema:
    return {"const": value}


def _in_cents() -> Schema:
    return NUMBER | {"description": "In cents of a USD."}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
