"""The operator's brand: name, logo, colours, support, and legal pages."""

import base64
import binascii
from typing import Annotated

import msgspec

from tollkeeper.core.brand import LEGAL_CHARACTERS_MOST, NAME_CHARACTERS_MOST, SUPPORT_CHARACTERS_MOST, BadBrand, Brand
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.png import BYTES_MOST, drawn_only
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.wishes import NoWish, ReasonText

LegalText = Annotated[str, msgspec.Meta(max_length=LEGAL_CHARACTERS_MOST, description="Plain Markdown; empty: none.")]
AccentColour = Annotated[str, msgspec.Meta(max_length=7, description="As #1c62b4; empty: the usual one.")]


class BrandWish(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out stays as it is; what is empty is as it would be without a brand."""

    name: Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS_MOST)] | None = None
    support: (
        Annotated[str, msgspec.Meta(max_length=SUPPORT_CHARACTERS_MOST, description="An e-mail or https address.")]
        | None
    ) = None
    accent_light: AccentColour | None = None
    accent_dark: AccentColour | None = None
    logo_png: (
        Annotated[str, msgspec.Meta(max_length=BYTES_MOST * 2, description="A PNG picture in Base64; empty: none.")]
        | None
    ) = None
    imprint: LegalText | None = None
    terms: LegalText | None = None
    privacy: LegalText | None = None
    reason: ReasonText = ""


class BrandView(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    support: str
    accent_light: str
    accent_dark: str
    logo_png: str
    imprint: str
    terms: str
    privacy: str


@act("GET", "/brand", Scope.READ)
async def show_brand(office: Office, wish: NoWish, by: Actor) -> BrandView:
    """What the service is called and looks like, and its legal pages."""
    return _view(await office.brand.current())


@act("POST", "/brand", Scope.EVERYTHING)
async def change_brand(office: Office, wish: BrandWish, by: Actor) -> BrandView:
    """Change the name, the logo, the colours, the address of support or the legal pages, for customers and in mails."""
    changed: dict[str, str | bytes] = {
        name: value
        for name in ("name", "support", "accent_light", "accent_dark", "imprint", "terms", "privacy")
        if (value := getattr(wish, name)) is not None
    }
    if wish.logo_png is not None:
        changed["logo"] = _logo(wish.logo_png)
    return _view(await office.brand.change(changed, actor=by.name))


def _logo(text: str) -> bytes:
    if not text:
        return b""
    try:
        return drawn_only(base64.b64decode(text, validate=True))
    except binascii.Error:
        raise BadBrand("The logo must be a PNG picture in Base64. Nothing was done.") from None


def _view(brand: Brand) -> BrandView:
    return BrandView(
        name=brand.name,
        support=brand.support,
        accent_light=brand.accent_light,
        accent_dark=brand.accent_dark,
        logo_png=base64.b64encode(brand.logo).decode(),
        imprint=brand.imprint,
        terms=brand.terms,
        privacy=brand.privacy,
    )


ACTS = (show_brand, change_brand)
