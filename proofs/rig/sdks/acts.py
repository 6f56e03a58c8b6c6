"""What an SDK is asked to show: the message that steers the simulator, and what should become of it."""

from collections.abc import Mapping

import msgspec


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One check of an SDK, what it should come to, and what of it should reach the upstream."""

    prompt: str = "Say something. [[tokens=20]]"
    model: str = "gpt-4o"
    # The SDK's check that plays it, where that is not the one of its own name.
    check: str = ""
    # A key that is nobody's; without it the act gets one of its own.
    wrong_key: str | None = None
    has_quota: bool = True
    status: int = 200
    type: str = ""
    code: str = ""
    message: str = ""
    headers: Mapping[str, str] = {}
    # Parameters that go along with the prompt.
    more: Mapping[str, object] = {}
    # Calls to the gateway; each that reaches the upstream does so once.
    calls: int = 1
    reaches_upstream: bool = True
    # The vendor has it and does not serve it: it costs nothing.
    is_rejected: bool = False
    tells_usage: bool = False
    breaks_off: bool = False

    @property
    def upstream_calls(self) -> int:
        return self.calls if self.reaches_upstream else 0

    def for_the_stage(self, name: str, base: str, key: str) -> dict[str, object]:
        """What the SDKs' scripts are told of it."""
        return {
            "check": self.check or name,
            "base": base,
            "key": key,
            "model": self.model,
            "prompt": self.prompt,
            "status": self.status,
            "type": self.type,
            "code": self.code,
            "message": self.message,
            "headers": self.headers,
            "more": self.more,
        }
