"""The brand: colours that can be read, a logo of pixels alone, addresses of support."""

import struct
import zlib

import pytest

from tollkeeper.core.brand import BadBrand, Brand, checked, contrast, style_sheet, support_link
from tollkeeper.core.png import BYTES_MOST, SIGNATURE, BadPicture, drawn_only


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


def a_png(width: int = 2, height: int = 2, *more: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + b"\x10\x20\x30" * 2 for _ in range(2))
    return SIGNATURE + chunk(b"IHDR", head) + b"".join(more) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_black_on_white_has_the_contrast_that_wcag_says() -> None:
    assert round(contrast((0, 0, 0), (255, 255, 255)), 2) == 21
    assert contrast((17, 17, 17), (17, 17, 17)) == 1


def test_colours_that_can_be_read_are_taken_and_become_a_style_sheet() -> None:
    brand = checked(Brand(accent_light=" #0559A8", accent_dark="#7db4f0"))
    assert (brand.accent_light, brand.accent_dark) == ("#0559a8", "#7db4f0")
    assert "--tblr-primary: #0559a8; --tblr-primary-rgb: 5, 89, 168;" in style_sheet(brand)
    assert style_sheet(Brand()) == ""


@pytest.mark.parametrize(
    "brand",
    [
        Brand(accent_light="#ffcc00"),
        Brand(accent_dark="#0559a8"),
        Brand(accent_light="red"),
        Brand(accent_light="#0559a8;}body{display:none"),
        Brand(name="x" * 41),
        Brand(name="a\nb"),
        Brand(support="javascript:alert(1)"),
        Brand(support="http://example.com"),
        Brand(support='a@b.example"><script>'),
        Brand(imprint="x" * 40_001),
    ],
    ids=lambda brand: str({name: text[:30] for name, text in vars_of(brand).items()}),
)
def test_what_cannot_be_a_brand_is_refused(brand: Brand) -> None:
    with pytest.raises(ValueError, match=r"Nothing was (done|changed)"):
        checked(brand)


def vars_of(brand: Brand) -> dict[str, str]:
    return {name: value for name in Brand.__struct_fields__ if (value := getattr(brand, name)) and name != "logo"}


def test_support_is_a_mail_or_a_page() -> None:
    assert support_link("help@example.com") == "mailto:help@example.com"
    assert support_link("https://example.com/help") == "https://example.com/help"
    assert checked(Brand(support=" help@example.com ")).support == "help@example.com"


def test_of_a_logo_only_what_draws_is_kept() -> None:
    plain = a_png()
    assert drawn_only(plain) == plain
    assert drawn_only(a_png(2, 2, chunk(b"tEXt", b"Author\0somebody"), chunk(b"eXIf", b"where"))) == plain


@pytest.mark.parametrize(
    "picture",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        a_png() + b"<script>",
        a_png()[:-1],
        a_png().replace(b"IDAT", b"IDAX"),
        a_png(4_000, 2),
        a_png(0, 2),
        SIGNATURE,
        SIGNATURE + chunk(b"IEND", b""),
        a_png() + b"\0" * BYTES_MOST,
    ],
    ids=["svg", "something behind it", "cut", "wrong checksum", "too wide", "no width", "no chunk", "empty", "large"],
)
def test_what_is_no_small_png_is_refused(picture: bytes) -> None:
    with pytest.raises(BadPicture, match="Nothing was done"):
        drawn_only(picture)


def test_a_bad_brand_says_how_to_mend_it() -> None:
    with pytest.raises(BadBrand, match=r"too hard to read: its contrast is 1\.\d to 1.*Choose a darker one"):
        checked(Brand(accent_light="#ffcc00"))
