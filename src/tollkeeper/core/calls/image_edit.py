"""Orders for edited images: a form with one image or several, perhaps a mask, and what is to become of them.

Rules of this file
1. What an image is, its first bytes say. Names and kinds that a caller gave are not sent on.
2. A form is written anew for the provider, so that what is priced is what is sent.
"""

from collections.abc import Iterator

import msgspec

from tollkeeper.core.calls import multipart_form
from tollkeeper.core.calls.media import (
    DEFAULT_SIZE,
    PROMPT_CHARACTERS_MOST,
    STANDARD,
    WANTED,
    ImageOrder,
    image_variant,
    required,
)
from tollkeeper.core.calls.multipart_form import FormFile
from tollkeeper.core.errors import InvalidParameter, MissingParameter, UnsupportedParameter

IMAGES_MOST = 16
# One image, several, and where the first may change.
IMAGE, IMAGES, MASK = "image", "image[]", "mask"
FILES = frozenset({IMAGE, IMAGES, MASK})
N_DIGITS_MOST = 3


class ImageForm(msgspec.Struct, frozen=True, kw_only=True):
    """A form with files in it that has arrived whole, in its order. Only names that stand for a list come twice."""

    fields: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, bytearray], ...]

    def value(self, name: str) -> str | None:
        """None where it is missing or empty, which in a form is the same."""
        return next((value for field, value in self.fields if field == name), None) or None


NO_FORM = ImageForm(fields=(), files=())


class ImageEditOrder(ImageOrder, kw_only=True):
    form: ImageForm

    @property
    def images(self) -> int:
        """The mask is an image, too."""
        return len(self.form.files)

    def forget_content(self) -> None:
        super().forget_content()
        self.form = NO_FORM

    def written(self, model: str, boundary: str) -> tuple[str, bytes]:
        """Kind of content, and body, with the provider's name of the model."""
        body = b"".join(multipart_form.written_with_files(self._fields(model), self._files(), boundary))
        return multipart_form.content_type(boundary), body

    def _fields(self, model: str) -> Iterator[tuple[str, str]]:
        set_anew = {"model": model}
        if self.tokens_each is None:
            set_anew["size"] = self.size
        yield from set_anew.items()
        for name, value in self.form.fields:
            if value and name not in set_anew:
                yield name, value

    def _files(self) -> Iterator[FormFile]:
        for name, content in self.form.files:
            ending = ending_of(content) or ""
            yield FormFile(name, f"image.{ending}", f"image/{ending}", content)


def read_image_edit(form: ImageForm) -> ImageEditOrder:
    model, prompt = required("model", form.value("model")), required("prompt", form.value("prompt"))
    if len(prompt) > PROMPT_CHARACTERS_MOST:
        raise InvalidParameter("prompt", WANTED["prompt"])
    if form.value("stream") not in {None, "false"}:
        raise UnsupportedParameter("stream", "images come whole here")
    _check_files(form)
    size, quality = form.value("size"), form.value("quality")
    return ImageEditOrder(
        model=model,
        prompt=prompt,
        form=form,
        variant=image_variant(size or DEFAULT_SIZE, quality or STANDARD),
        n=_number(form.value("n")),
        size=size or DEFAULT_SIZE,
        asked_size=size,
        asked_quality=quality,
    )


def ending_of(content: bytearray) -> str | None:
    """What kind of image it is; None where it is none of those that are edited."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    return "webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def _check_files(form: ImageForm) -> None:
    images = [name for name, _ in form.files if name != MASK]
    if not images:
        raise MissingParameter(IMAGE)
    if len(images) > IMAGES_MOST:
        raise InvalidParameter(IMAGE, f"must be at most {IMAGES_MOST} images")
    for name, content in form.files:
        if ending_of(content) is None:
            raise InvalidParameter(name, "must be a PNG, JPEG or WebP file")


def _number(text: str | None) -> int:
    if text is None:
        return 1
    if not (text.isascii() and text.isdigit() and len(text) <= N_DIGITS_MOST):
        raise InvalidParameter("n", WANTED["n"])
    return int(text)
