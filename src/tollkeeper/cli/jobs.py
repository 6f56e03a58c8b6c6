"""What runs here: `jobs` beside the calls, and `nodes`."""

from datetime import datetime
from typing import Any

import typer

from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.office.house import list_jobs, list_nodes
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.house import NodeRecord
from tollkeeper.ports.jobs import JobRecord


def register(app: typer.Typer) -> None:
    app.command("jobs")(show_jobs)
    app.command("nodes")(show_nodes)


@command()
async def show_jobs(as_json: AsJson = False) -> None:
    """What is done beside the calls: when last, how long it took, what came of it, and when it is due."""
    show_list(
        (await perform(list_jobs, NoWish())).data,
        head=("job", "every", "last began", "took", "what came of it", "due", "done by"),
        line=_line,
        record=_record,
        as_json=as_json,
        none="No job was ever done here. Start a worker: tollkeeper work",
    )


@command()
async def show_nodes(as_json: AsJson = False) -> None:
    """The nodes on record: which are alive, their version, since when, and how many processes they have."""
    show_list(
        (await perform(list_nodes, NoWish())).data,
        head=("node", "version", "since", "heard of", "serving", "doing jobs", "now"),
        line=_node_line,
        record=_node_record,
        as_json=as_json,
        none="No node was ever started here. Start one: tollkeeper serve",
    )


def _node_line(node: NodeRecord) -> tuple[str, ...]:
    processes = (str(node.serving), str(node.working))
    version, standing = node.version or "unknown", "alive" if node.is_alive else "not heard of"
    return (node.name, version, _when(node.started_at), _when(node.heartbeat_at), *processes, standing)


def _node_record(node: NodeRecord) -> dict[str, Any]:
    return fields_of(node, "name", "version", "started_at", "heartbeat_at", "is_alive", "serving", "working")


def _line(job: JobRecord) -> tuple[str, ...]:
    return (
        job.name,
        _span(job.every_seconds),
        _when(job.began_at),
        "" if job.seconds is None else f"{job.seconds:.2f} s",
        _outcome(job),
        _when(job.due_at),
        job.holder or "nobody",
    )


def _record(job: JobRecord) -> dict[str, Any]:
    times = ("every_seconds", "due_at", "began_at", "ended_at", "seconds")
    return fields_of(job, "name", *times, "went_well", "outcome", "runs", "failures", "holder")


def _outcome(job: JobRecord) -> str:
    if job.went_well is False:
        return f"FAILED: {job.outcome or ''} (failed {job.failures} of {job.runs} times)"
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
