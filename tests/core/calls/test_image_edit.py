"""Forms with images to be changed: what is read of them, and what is sent."""

import pytest

from tollkeeper.core.calls.image_edit import ImageEditOrder, ImageForm, read_image_edit
from tollkeeper.core.errors import BadRequest

PNG, JPEG = bytearray(b"\x89PNG\r\n\x1a\n pixels"), bytearray(b"\xff\xd8\xff pixels")
WEBP = bytearray(b"RIFF\0\0\0\0WEBP pixels")
BOUNDARY = "a-boundary-of-this-test"
FIELDS = {"model": "m", "prompt": "A hat"}


def an_edit(*files: tuple[str, bytearray], **fields: str) -> ImageEditOrder:
    return read_image_edit(ImageForm(fields=tuple((FIELDS | fields).items()), files=files or (("image", PNG),)))


def test_an_image_is_sent_as_what_it_is_and_not_as_it_was_called() -> None:
    order = an_edit(("image[]", PNG), ("image[]", JPEG), ("mask", WEBP), background="opaque")
    order.tokens_each = 1
    kind, body = order.written("theirs", BOUNDARY)
    assert kind == f"multipart/form-data; boundary={BOUNDARY}"
    boundary = BOUNDARY.encode()
    heads = [part.partition(b"\r\n\r\n")[0].strip() for part in body.split(b"--" + boundary)[1:-1]]
    disposition = b"Content-Disposition: form-data; name="
    assert heads == [
        disposition + b'"model"',
        disposition + b'"prompt"',
        disposition + b'"background"',
        disposition + b'"image[]"; filename="image.png"\r\nContent-Type: image/png',
        disposition + b'"image[]"; filename="image.jpeg"\r\nContent-Type: image/jpeg',
        disposition + b'"mask"; filename="image.webp"\r\nContent-Type: image/webp',
    ]
    assert body.endswith(b"\r\n\r\nRIFF\0\0\0\0WEBP pixels\r\n--" + boundary + b"--\r\n")
    assert b"theirs" in body


def test_the_size_that_is_priced_is_the_size_that_is_sent() -> None:
    assert b"1024x1024" in an_edit(quality="").written("m", BOUNDARY)[1]
    assert b'"quality"' not in an_edit(quality="").written("m", BOUNDARY)[1]
    assert (an_edit(quality="hd", size="1792x1024").variant, an_edit().variant) == ("1792x1024 hd", "1024x1024")


def test_what_is_not_needed_any_more_is_forgotten() -> None:
    order = an_edit()
    order.forget_content()
    assert (order.form.files, order.form.fields, order.prompt, order.images) == ((), (), "", 0)


@pytest.mark.parametrize(
    ("edit", "param"),
    [
        (lambda: an_edit(("mask", PNG)), "image"),
        (lambda: an_edit(*[("image[]", PNG)] * 17), "image"),
        (lambda: an_edit(("image", bytearray(b"GIF89a"))), "image"),
        (lambda: an_edit(("image", PNG), ("mask", bytearray())), "mask"),
        (lambda: an_edit(n="1.5"), "n"),
        (lambda: an_edit(n="\u0661"), "n"),
        (lambda: an_edit(n="9" * 5_000), "n"),
        (lambda: an_edit(stream="true"), "stream"),
        (lambda: an_edit(prompt="x" * 32_001), "prompt"),
        (lambda: an_edit(size="1024x1024 hd"), "size"),
        (lambda: an_edit(model=""), "model"),
    ],
    ids=["no image", "too many", "another kind", "an empty mask", "half", "digits", "long", "stream", "long prompt",
         "a space", "no model"],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_name(edit: object, param: str) -> None:
    assert callable(edit)
    with pytest.raises(BadRequest) as refusal:
        edit()
    assert refusal.value.param == param
