"""The operator's brand: what the service is called, its colours, its logo, and its legal pages.

Rules of this file
1. Colours are six hexadecimal digits, and can be read where they are used (WCAG AA, 4.5 to 1): the light one on white
   and below white letters, the dark one on the dark theme's surfaces.
2. What is empty is as it is without a brand.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tollkeeper.core.one_line import one_line

NAME_CHARACTERS_MOST: Final = 40
SUPPORT_CHARACTERS_MOST: Final = 200
LEGAL_CHARACTERS_MOST: Final = 40_000
CONTRAST_LEAST: Final = 4.5
WHITE: Final = (255, 255, 255)
# A little lighter than the lightest surface of the dark theme.
DARK_SURFACE: Final = (43, 43, 43)
# As much of the accent as the background of what is chosen has.
TINT: Final = 0.1

_COLOUR = re.compile(r"#[0-9a-f]{6}")
_EMAIL = re.compile(r"[^\s@<>\"'?&]+@[^\s@<>\"'?&]+\.[^\s@<>\"'?&]+")
_WEB = re.compile(r"https://[^\s<>\"']+")

Colour = tuple[int, int, int]


class BadBrand(ValueError):
    """A brand cannot be like that; the message says why."""


class Brand(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    # An e-mail, or the address of a page.
    support: str = ""
    accent_light: str = ""
    accent_dark: str = ""
    # A PNG picture.
    logo: bytes = b""
    # Plain Markdown.
    imprint: str = ""
    terms: str = ""
    privacy: str = ""

    @property
    def legal(self) -> Mapping[str, str]:
        """The legal pages that there are, by name."""
        texts = {"imprint": self.imprint, "terms": self.terms, "privacy": self.privacy}
        return {name: text for name, text in texts.items() if text}


def checked(brand: Brand) -> Brand:
    """The brand as it is kept. Raise BadBrand, or NotOneLine."""
    if len(brand.name) > NAME_CHARACTERS_MOST:
        raise BadBrand(f"The name has {NAME_CHARACTERS_MOST} characters at most. Nothing was done.")
    for name, text in (("imprint", brand.imprint), ("terms", brand.terms), ("privacy", brand.privacy)):
        if len(text) > LEGAL_CHARACTERS_MOST or "\0" in text:
            raise BadBrand(f"The page '{name}' has {LEGAL_CHARACTERS_MOST:,} characters at most. Nothing was done.")
    return msgspec.structs.replace(
        brand,
        name=one_line(brand.name.strip(), "The name"),
        support=_support(brand.support.strip()),
        accent_light=_accent(brand.accent_light, WHITE, "light"),
        accent_dark=_accent(brand.accent_dark, DARK_SURFACE, "dark"),
        **{name: text.replace("\r\n", "\n").strip() for name, text in brand.legal.items()},
    )


def support_link(support: str) -> str:
    return support if _WEB.fullmatch(support) else f"mailto:{support}"


def style_sheet(brand: Brand) -> str:
    """The colours, for a style sheet of its own; empty where none was chosen."""
    light, dark = brand.accent_light, brand.accent_dark
    own = []
    if light:
        red, green, blue = _colour(light)
        own.append(
            f":root, [data-bs-theme] {{ --tblr-primary: {light}; --tblr-primary-rgb: {red}, {green}, {blue}; }}\n"
            f':root, [data-bs-theme="light"] {{ --accent: {light}; }}\n'
        )
    if dark:
        own.append(f'[data-bs-theme="dark"] {{ --accent: {dark}; }}\n')
    return "".join(own)


def contrast(one: Colour, other: Colour) -> float:
    """As WCAG 2 has it: 1 (equal) to 21 (black on white)."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _accent(text: str, surface: Colour, theme: str) -> str:
    text = text.strip().lower()
    if not text:
        return ""
    if not _COLOUR.fullmatch(text):
        raise BadBrand(f"Write the {theme} accent colour as #1c62b4. Nothing was done.")
    colour = _colour(text)
    tinted = _mixed(colour, surface)
    found = min(contrast(colour, surface), contrast(colour, tinted))
    if found < CONTRAST_LEAST:
        way = "darker" if surface == WHITE else "lighter"
        raise BadBrand(
            f"The {theme} accent {text} is too hard to read: its contrast is {found:.1f} to 1, and {CONTRAST_LEAST} is "
            f"the least. Choose a {way} one. Nothing was done."
        )
    return text


def _support(text: str) -> str:
    known = not text or _EMAIL.fullmatch(text) or _WEB.fullmatch(text)
    if not known or len(text) > SUPPORT_CHARACTERS_MOST or not text.isprintable():
        raise BadBrand("Write support as an e-mail, or as the https:// address of a page. Nothing was done.")
    return text


def _colour(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _mixed(colour: Colour, surface: Colour) -> Colour:
    red, green, blue = (round(TINT * own + (1 - TINT) * below) for own, below in zip(colour, surface, strict=True))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
