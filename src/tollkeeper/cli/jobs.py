"""The jobs beside the calls: `jobs`."""

from datetime import datetime

import typer
from rich.table import Table
from rich.text import Text

from tollkeeper.app import opened
from tollkeeper.cli.command import command
from tollkeeper.cli.speak import say, settings_or_complain, show
from tollkeeper.ports.jobs import JobRecord
from tollkeeper.storage.database import Part
from tollkeeper.storage.job_book import jobs_on_record


def register(app: typer.Typer) -> None:
    app.command("jobs")(list_jobs)


@command()
async def list_jobs() -> None:
    """What is done beside the calls: when last, how long it took, what came of it, and when it is due."""
    async with opened(settings_or_complain(), Part.CONSOLE) as database:
        found = list(await jobs_on_record(database))
    if not found:
        say("No job was ever done here. Start a worker: tollkeeper work")
        return
    table = Table("job", "every", "last began", "took", "what came of it", "due", "done by")
    for job in found:
        table.add_row(
            job.name,
            _span(job.every_seconds),
            _when(job.began_at),
            "" if job.seconds is None else f"{job.seconds:.2f} s",
            Text(_outcome(job), style="" if job.went_well is not False else "red"),
            _when(job.due_at),
            Text(job.holder or "nobody"),
        )
    show(table)


def _outcome(job: JobRecord) -> str:
    if job.began_at is not None and job.ended_at is None:
        return "under way" if job.holder else "begun, and nobody knows how it ended"
    told = job.outcome or ""
    return f"{told} (failed {job.failures} of {job.runs} times)" if job.failures else told


def _when(at: datetime | None) -> str:
    return "never" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
