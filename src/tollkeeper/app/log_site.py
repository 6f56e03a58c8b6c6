"""The log site that the settings name, and the usage log that is cleaned into it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tollkeeper.app.database import opened
from tollkeeper.jobs.clean_usage_log import Turn
from tollkeeper.log_site.folder import FolderSite
from tollkeeper.ports.usage import CleanUsage, LogSite
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage.cleaning import SqlCleanUsage


def log_site_of(settings: Settings) -> LogSite | None:
    """None where there is none."""
    if not settings.log_site:
        return None
    place = urlsplit(settings.log_site)
    if place.scheme == "file":
        return FolderSite(Path(unquote(place.path)))
    # The client of S3 takes 11 MB and some time to load; everything but a cleanup to a bucket does without it.
    from tollkeeper.log_site.s3 import Bucket, S3Site  # noqa: PLC0415

    return S3Site(
        Bucket(
            name=place.netloc,
            prefix=place.path.strip("/"),
            endpoint=settings.log_site_endpoint,
            region=settings.log_site_region,
            key_id=settings.log_site_key_id,
            secret=settings.log_site_secret.reveal(),
        )
    )


def cleaning_turn_of(settings: Settings) -> Turn:
    return Turn(keep_days=settings.usage_days, every_days=settings.usage_cleaned_days)


@asynccontextmanager
async def usage_to_clean(settings: Settings) -> AsyncIterator[CleanUsage]:
    """Open the usage log for the length of one cleanup."""
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield SqlCleanUsage(database)
