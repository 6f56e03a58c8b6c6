"""What every SDK is asked to show: the message that steers the simulator, and the refusal to expect, if any."""

from collections.abc import Mapping

import msgspec

MODEL = "gpt-4o"
CUT_SECONDS = 2


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One call, what it should come to, and what of it should reach the upstream."""

    prompt: str = "Say something. [[tokens=20]]"
    tokens: int = 20
    model: str = MODEL
    # A key that is nobody's; without it the act gets one of its own.
    wrong_key: str | None = None
    has_quota: bool = True
    status: int = 200
    type: str = ""
    code: str = ""
    message: str = ""
    headers: Mapping[str, str] = {}
    reaches_upstream: bool = True
    breaks_off: bool = False

    def for_the_stage(self, base: str, key: str) -> dict[str, object]:
        """What the SDKs' scripts are told of it."""
        return {
            "base": base,
            "key": key,
            "model": self.model,
            "prompt": self.prompt,
            "tokens": self.tokens,
            "status": self.status,
            "type": self.type,
            "code": self.code,
            "message": self.message,
            "headers": self.headers,
        }


ACTS = {
    "plain": Act(),
    "streamed": Act(prompt="Say something. [[tokens=20 chunk_ms=5]]"),
    "streamed with usage": Act(prompt="Say something. [[tokens=20 chunk_ms=5]]"),
    "tool call": Act(prompt="Please call the tool."),
    "image input": Act(prompt="What is in the picture? [[tokens=20]]"),
    "wrong key": Act(
        wrong_key="sk-aWrongWrongWrongWrongWrongWrongWrongWrongWrongW",
        status=401,
        type="authentication_error",
        code="invalid_api_key",
        reaches_upstream=False,
    ),
    "unknown model": Act(
        model="no-such-model",
        status=404,
        type="invalid_request_error",
        code="model_not_found",
        reaches_upstream=False,
    ),
    "insufficient quota": Act(
        has_quota=False,
        status=403,
        type="insufficient_quota",
        code="insufficient_account_quota",
        headers={"x-should-retry": "false"},
        reaches_upstream=False,
    ),
    "cut": Act(
        prompt=f"Think long. [[tokens=20 delay_ms={CUT_SECONDS * 1500}]]",
        status=524,
        type="timeout_error",
        code="edge_timeout",
        message="524: A timeout occurred",
        headers={"x-should-retry": "false", "cf-error": "524"},
    ),
    # Slowly enough for each piece to be read before the reset, which discards what is not.
    "broken stream": Act(
        prompt="Say something. [[tokens=200 chunk_ms=20 cut_at=10]]",
        type="upstream_error",
        code="stream_broken",
        breaks_off=True,
    ),
}
