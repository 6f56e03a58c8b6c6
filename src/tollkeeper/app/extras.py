"""Parts of the service that are installed apart from it."""

from importlib.util import find_spec

from tollkeeper.settings import PREFIX, Settings


def missing_extra(settings: Settings) -> str | None:
    """What to do where a collector is set and what speaks to it is not installed."""
    if not settings.otel_endpoint or _is_installed():
        return None
    return (
        f"{PREFIX}OTEL_ENDPOINT is set, and OpenTelemetry is not installed: pip install 'tollkeeper[otel]', or leave "
        "the setting out."
    )


def _is_installed() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        # Not even the package around it.
        return False
