"""The house: jobs, nodes, settings, and what the last check of the books found."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.house import NodeRecord, SettingRecord
from tollkeeper.ports.jobs import JobRecord

# By this name the job book knows the nightly check.
BOOKS_JOB = "check_books"


class BooksVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the last check found that came to a verdict; `is_clean` is null where there was none yet. `last_run` is what
    came of the last run, which may have come to none."""

    is_clean: bool | None
    checked_at: datetime | None
    last_run_at: datetime | None
    last_run: str | None
    due_at: datetime | None


@act("GET", "/jobs", Scope.READ)
async def list_jobs(office: Office, wish: NoWish, by: Actor) -> Listed[JobRecord]:
    """What is done beside the calls: when last, how long it took, what came of it, and when it is due."""
    return Listed(list(await office.jobs_on_record()))


@act("GET", "/nodes", Scope.READ)
async def list_nodes(office: Office, wish: NoWish, by: Actor) -> Listed[NodeRecord]:
    """The nodes on record: which are alive, their version, since when, and how many processes they have."""
    return Listed(list(await office.nodes_on_record()))


@act("GET", "/settings", Scope.READ)
async def list_settings(office: Office, wish: NoWish, by: Actor) -> Listed[SettingRecord]:
    """The settings in force in the process that answers. Secrets are never shown."""
    return Listed(office.settings_in_force())


@act("GET", "/books/verdict", Scope.READ)
async def show_books_verdict(office: Office, wish: NoWish, by: Actor) -> BooksVerdict:
    """Whether the books were clean when they were last checked, and when that was."""
    job = _books_job(await office.jobs_on_record())
    if job is None:
        return BooksVerdict(is_clean=None, checked_at=None, last_run_at=None, last_run=None, due_at=None)
    return BooksVerdict(
        is_clean=job.judged_well,
        checked_at=job.judged_at,
        last_run_at=job.began_at,
        last_run=job.outcome,
        due_at=job.due_at,
    )


def _books_job(jobs: Sequence[JobRecord]) -> JobRecord | None:
    return next((job for job in jobs if job.name == BOOKS_JOB), None)


ACTS = (list_jobs, list_nodes, list_settings, show_books_verdict)
