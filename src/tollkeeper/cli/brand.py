"""The brand: `brand show`, `set`."""

import base64
from pathlib import Path
from typing import Annotated

import typer

from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MaybeReason
from tollkeeper.cli.listing import AsJson, fields_of, show_fields, show_json
from tollkeeper.cli.speak import say
from tollkeeper.office.brand import BrandWish, change_brand, show_brand
from tollkeeper.office.wishes import NoWish

brand_app = typer.Typer(
    help="The brand: what the service is called and looks like, and its legal pages.", no_args_is_help=True
)
FIELDS = ("name", "support", "accent_light", "accent_dark", "logo_png", "imprint", "terms", "privacy")
LegalFile = Annotated[Path | None, typer.Option(dir_okay=False, exists=True, help="A file with plain Markdown.")]


def register(app: typer.Typer) -> None:
    app.add_typer(brand_app, name="brand")


@brand_app.command("show")
@command()
async def show(as_json: AsJson = False) -> None:
    """What the service is called and looks like."""
    brand = await perform(show_brand, NoWish())
    if as_json:
        show_json(fields_of(brand, *FIELDS))
        return
    show_fields(
        [
            ("name", brand.name or "as TOLLKEEPER_CONSOLE_NAME says"),
            ("support", brand.support or "–"),
            ("light accent", brand.accent_light or "the usual one"),
            ("dark accent", brand.accent_dark or "the usual one"),
            ("logo", f"{len(base64.b64decode(brand.logo_png))} bytes" if brand.logo_png else "the usual one"),
            *((name, f"{len(getattr(brand, name))} characters") for name in ("imprint", "terms", "privacy")),
        ]
    )


@brand_app.command("set")
@command(ValueError)
async def set_brand(
    name: Annotated[str | None, typer.Option(help="What the service is called.")] = None,
    support: Annotated[str | None, typer.Option(help="An e-mail, or the https address of a page.")] = None,
    accent_light: Annotated[str | None, typer.Option(help="Colour of links and buttons, as #1c62b4.")] = None,
    accent_dark: Annotated[str | None, typer.Option(help="Colour of links in the dark theme, as #7db4f0.")] = None,
    logo: Annotated[Path | None, typer.Option(dir_okay=False, exists=True, help="A PNG picture of 48 KiB.")] = None,
    no_logo: Annotated[bool, typer.Option("--no-logo", help="Show the usual mark again.")] = False,
    imprint: LegalFile = None,
    terms: LegalFile = None,
    privacy: LegalFile = None,
    reason: MaybeReason = "",
) -> None:
    """Change what is said; the rest stays. An empty text or file: as it is without a brand."""
    wish = BrandWish(
        name=name,
        support=support,
        accent_light=accent_light,
        accent_dark=accent_dark,
        logo_png="" if no_logo else None if logo is None else base64.b64encode(logo.read_bytes()).decode(),
        imprint=_text(imprint),
        terms=_text(terms),
        privacy=_text(privacy),
        reason=reason,
    )
    await perform(change_brand, wish)
    say("the brand is saved; pages show it within a second, mails from now on")


def _text(file: Path | None) -> str | None:
    return None if file is None else file.read_text(encoding="utf-8")
