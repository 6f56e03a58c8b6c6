"""The way to webhooks, made from the settings."""

from pathlib import Path

from tollkeeper.providers.http import HttpUpstream
from tollkeeper.providers.post import ATTEMPT_SECONDS, HttpPoster
from tollkeeper.settings import Settings


def poster_of(settings: Settings) -> HttpPoster:
    """Events leave as calls to providers do; only what is private is allowed by a setting of its own."""
    allowed = settings.private_webhooks
    certificates = settings.provider_certificates
    upstream = HttpUpstream(
        connect_seconds=settings.connect_seconds,
        idle_seconds=ATTEMPT_SECONDS,
        private_allowed=allowed,
        proxy_url=settings.egress_proxy.reveal() or None,
        root_certificates=Path(certificates).read_bytes() if certificates else None,
    )
    return HttpPoster(upstream, private_allowed=allowed)
