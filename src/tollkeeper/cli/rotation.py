"""The service's own secrets: `pepper list`, `pepper retire`, `envelope list`, `envelope reseal`."""

import base64
from collections.abc import Container, Mapping, Sequence
from typing import Annotated

import typer

from tollkeeper.app.books import books_desk
from tollkeeper.app.office import office
from tollkeeper.app.secrets import envelope_keys_of, known_secrets_of, peppers_of, service_mark_of
from tollkeeper.cli.command import command
from tollkeeper.cli.listing import AsJson, JsonRecord, show_list
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.ports.secrets import KnowingNode, StillNeeded
from tollkeeper.settings import Settings

pepper_app = typer.Typer(help="Peppers: secrets under which API keys are digested.", no_args_is_help=True)
envelope_app = typer.Typer(
    help="Envelope keys: secrets that seal provider keys, second factors and closed days of the books.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    app.add_typer(pepper_app, name="pepper")
    app.add_typer(envelope_app, name="envelope")


@pepper_app.command("list")
@command()
async def list_peppers(as_json: AsJson = False) -> None:
    """Every version: how many keys and recovery codes stand under it, and which live nodes do not know it."""
    chosen = settings_or_complain()
    async with office(chosen) as desk:
        uses, nodes = await desk.secrets.pepper_uses(), await desk.secrets.nodes()
    peppers, apart = peppers_of(chosen), _lacking("mark", chosen, nodes)

    def record(version: int) -> JsonRecord:
        use, is_listed = uses.get(version), version in peppers.by_version
        return {
            "version": version or None,
            "keys": use.keys if use else 0,
            "recovery_codes": use.recovery_codes if use else 0,
            "here": _here(version, peppers.in_use, peppers.by_version) if version else "",
            "nodes_lacking": _lacking(f"pepper:{version}", chosen, nodes) if is_listed else [],
        }

    show_list(
        map(record, sorted(set(uses) | set(peppers.by_version))),
        head=("version", "keys", "recovery codes", "here", "nodes that lack it"),
        line=_line,
        record=lambda each: each,
        as_json=as_json,
        more={"nodes_apart": apart},
    )
    if apart and not as_json:
        others = ", ".join(apart)
        say(f"These nodes count limits apart, for their oldest pepper, or their mark, is another: {others}.")


@pepper_app.command("retire")
@command(StillNeeded)
async def retire(
    version: Annotated[int, typer.Argument(min=1, max=32_767, help="The version to give up.")],
    leaving: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Give it up although N keys and recovery codes stand under it; they stop working."
        ),
    ] = 0,
) -> None:
    """Give a pepper up that nothing stands under any more, and say what takes its place in TOLLKEEPER_PEPPERS."""
    chosen = settings_or_complain()
    peppers = peppers_of(chosen)
    if version not in peppers.by_version:
        raise Mistake(f"Pepper {version} is not listed in TOLLKEEPER_PEPPERS here, so nothing is to be done.")
    if version == peppers.in_use:
        raise Mistake(
            f"Pepper {version} is in use: new keys are digested under it. Name another in TOLLKEEPER_PEPPER_IN_USE on "
            "all nodes first. Nothing was changed."
        )
    async with office(chosen) as desk:
        await desk.secrets.retire_pepper(version, leaving=leaving, actor=desk.actor)
    say(f"Pepper {version} is retired. On every node, take {version}:… out of TOLLKEEPER_PEPPERS.")
    if version == min(peppers.by_version) and "mark:" not in chosen.peppers.reveal():
        mark = base64.b64encode(service_mark_of(chosen)).decode()
        say("Put this in its place, on all of them, so that nodes with and without it go on counting limits together:")
        say(f"mark:{mark}")


@envelope_app.command("list")
@command()
async def list_envelopes(as_json: AsJson = False) -> None:
    """Every version: how many secrets, and closed days of the books, are sealed under it, and which live nodes do not
    know it."""
    chosen = settings_or_complain()
    async with office(chosen) as desk:
        uses, nodes = await desk.secrets.envelope_uses(), await desk.secrets.nodes()
    async with books_desk(chosen, actor=desk.actor) as books:
        macs = await books.seal_versions()
    keys = envelope_keys_of(chosen)

    def record(version: int) -> JsonRecord:
        return {
            "version": version,
            "sealed_secrets": uses.get(version, 0),
            "seals_of_books": macs.get(version, 0),
            "here": _here(version, keys.in_use, keys.by_version),
            "nodes_lacking": _lacking(f"envelope:{version}", chosen, nodes) if version in keys.by_version else [],
        }

    show_list(
        map(record, sorted(set(uses) | set(macs) | set(keys.by_version))),
        head=("version", "sealed secrets", "seals of the books", "here", "nodes that lack it"),
        line=_line,
        record=lambda each: each,
        as_json=as_json,
    )


@envelope_app.command("reseal")
@command()
async def reseal() -> None:
    """Seal every secret anew that is not sealed under the version in use, and the closed days of the books. Calls go
    on meanwhile. Exit code 1 where a secret cannot be opened, the seals of the books are broken, or a live node does
    not know that version."""
    chosen = settings_or_complain()
    version = envelope_keys_of(chosen).in_use
    async with office(chosen) as desk:
        if lacking := _lacking(f"envelope:{version}", chosen, await desk.secrets.nodes()):
            raise Mistake(
                f"Envelope key {version} is not known, or is another one, on {', '.join(lacking)}, which could "
                "not open what is sealed under it. List it in TOLLKEEPER_ENVELOPE_KEYS there first. Nothing was "
                "changed."
            )
        async with books_desk(chosen, actor=desk.actor) as books:
            # First: a login that may not do this has then done nothing by halves.
            renewed = await books.renew_seals()
            done = await desk.secrets.reseal(actor=desk.actor)
            left = _others(await books.seal_versions(), version)
        left += _others(await desk.secrets.envelope_uses(), version)
    say(f"{done.sealed} secrets are sealed anew, under envelope key {version}.")
    say(f"{renewed.macs} seals of the books are made anew.")
    _complain_of(done.lost, renewed.broken)
    if left:
        raise Mistake(f"{left} of them were sealed under another version meanwhile. Run this again.")
    say("Nothing is sealed under any other; older versions can be taken out of TOLLKEEPER_ENVELOPE_KEYS.")


def _complain_of(lost: Sequence[str], broken: Sequence[str]) -> None:
    """What is still sealed as it was, and why."""
    told = []
    if lost:
        told.append(
            f"No listed envelope key opens these, which are left as they are: {', '.join(lost)}. List the key that "
            "does. If it is lost: `tollkeeper provider rotate-key`, `tollkeeper login drop-second-factor`."
        )
    if broken:
        told.append(
            f"The seals of the books are left as they are, for they are broken: {'; '.join(broken)}. "
            "`tollkeeper books check` says more."
        )
    if told:
        raise Mistake(" ".join([*told, "Until then, take no envelope key out."]))


def _others(uses: Mapping[int, int], version: int) -> int:
    return sum(count for each, count in uses.items() if each != version)


def _lacking(secret: str, settings: Settings, nodes: Sequence[KnowingNode]) -> list[str]:
    """The live nodes that do not know the secret which is listed here, or know another under its name."""
    mine = next(known for known in known_secrets_of(settings) if known.startswith(f"{secret}:"))
    return [node.name for node in nodes if mine not in node.secrets]


def _here(version: int, in_use: int, listed: Container[int]) -> str:
    return "in use" if version == in_use else "listed" if version in listed else "not listed"


def _line(record: JsonRecord) -> list[str]:
    """A version that no row names stands for any."""
    version, *figures, here, lacking = record.values()
    return ["any" if version is None else str(version), *map(str, figures), here, ", ".join(lacking)]
