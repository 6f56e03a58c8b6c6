"""`work`: the jobs beside the calls."""

import asyncio
import logging.config

import typer

from tollkeeper.app.first_look import DatabaseRole
from tollkeeper.app.journal import check_journal
from tollkeeper.app.work import work as run_jobs
from tollkeeper.cli.command import command
from tollkeeper.cli.process import LOGGING, need_database, need_port, until_stopped
from tollkeeper.cli.speak import settings_or_complain
from tollkeeper.cli.startup_code import refuse_unknown_startup_code
from tollkeeper.core_dumps import forbid_core_dumps


def register(app: typer.Typer) -> None:
    app.command()(work)


@command()
def work() -> None:
    """Run the jobs beside the calls until stopped: close stale holds, expire lots, prepare tables, test keys."""
    logging.config.dictConfig(LOGGING)
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    check_journal(chosen)
    need_port(chosen.metrics_host, chosen.work_metrics_port, "TOLLKEEPER_WORK_METRICS_PORT")
    need_database(chosen, DatabaseRole.WORKER)
    asyncio.run(until_stopped(run_jobs(chosen), f"jobs of {chosen.node} run"))
