"""The acts of prove-relay: what goes well, every refusal that an SDK might take for something else, and a break."""

from decimal import Decimal

from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.catalog import Model, ProviderAccount

CUT_SECONDS = 2
MODEL = Model(id="gpt-4o", multiplier=Decimal("1.25"), completion=Decimal(4))
ACCOUNT = ProviderAccount(name="simulator")

ACTS = {
    "plain": Act(tells_usage=True),
    "streamed": Act(prompt="Say something. [[tokens=20 chunk_ms=5]]"),
    "streamed with usage": Act(prompt="Say something. [[tokens=20 chunk_ms=5]]", tells_usage=True),
    "tool call": Act(prompt="Please call the tool.", tells_usage=True),
    "image input": Act(prompt="What is in the picture? [[tokens=20]]", tells_usage=True),
    "wrong key": Act(
        check="refused",
        wrong_key="sk-aWrongWrongWrongWrongWrongWrongWrongWrongWrongW",
        status=401,
        type="authentication_error",
        code="invalid_api_key",
        reaches_upstream=False,
    ),
    "unknown model": Act(
        check="refused",
        model="no-such-model",
        status=404,
        type="invalid_request_error",
        code="model_not_found",
        reaches_upstream=False,
    ),
    "insufficient quota": Act(
        check="refused",
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
