"""Refusals as the `openai` package from PyPI raises them, also through SDKs that are built on it."""

from collections.abc import Callable

import openai

from proofs.rig.sdks.stage import Act, caught

REFUSALS: dict[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    524: openai.InternalServerError,
}


def refusal_of(act: Act, call: Callable[[Act], object]) -> openai.APIStatusError:
    """The refusal that this act must meet, with all that a caller is to be told."""
    refusal = caught(REFUSALS[act.status], lambda: call(act))
    assert (refusal.status_code, refusal.type, refusal.code) == (act.status, act.type, act.code), refusal
    assert act.headers.items() <= dict(refusal.response.headers).items(), refusal.response.headers
    assert isinstance(refusal.body, dict)
    assert refusal.body["message"].startswith(act.message), refusal
    assert refusal.request_id
    return refusal
