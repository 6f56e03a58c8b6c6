"""Is this deployment well: `doctor`."""

from collections.abc import Sequence

import typer

from tollkeeper.app.doctor import diagnose
from tollkeeper.cli.command import command
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.listing import AsJson, fields_of, show_json
from tollkeeper.cli.speak import complain, say, settings_or_complain
from tollkeeper.core.diagnosis import Condition, Diagnosis, broken
from tollkeeper.settings import BadSettings

WORST_FIRST = (Condition.BROKEN, Condition.TO_DO, Condition.OK)


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


@command()
async def doctor(as_json: AsJson = False) -> None:
    """Say what to do about stores, roles, clocks, schema, disk, mail, providers. Exit code 1: something is broken."""
    try:
        found = await diagnose(settings_or_complain())
    except BadSettings as problem:
        found = [broken("settings", line, "tollkeeper settings") for line in str(problem).splitlines()]
    if as_json:
        show_json({"data": [fields_of(each, "about", "condition", "told", "remedy") for each in found]})
    else:
        _show(found)
    if any(each.condition is Condition.BROKEN for each in found):
        raise typer.Exit(ExitCode.REFUSED)


def _show(found: Sequence[Diagnosis]) -> None:
    for line in found:
        write = say if line.condition is Condition.OK else complain
        write(f"{line.condition:<7} {line.about}: {line.told}")
        if line.remedy:
            write(f"        {line.remedy}")
    counts = {each: sum(line.condition is each for line in found) for each in WORST_FIRST}
    (say if counts[Condition.OK] == len(found) else complain)(
        f"{counts[Condition.BROKEN]} broken, {counts[Condition.TO_DO]} to do, {counts[Condition.OK]} ok"
    )
