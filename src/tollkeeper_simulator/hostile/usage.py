"""False usage: the numbers that a provider reports, replaced in the bytes of any vendor's usage object."""

import re

from tollkeeper_simulator.hostile.directions import Hostile

Values = tuple[bytes, bytes, bytes]

_USAGE = re.compile(rb'"usage(?:Metadata)?":\{')
# Input, output, cached input: one name for each vendor.
_NUMBERS = (
    re.compile(rb'"(prompt_tokens|input_tokens|promptTokenCount)":-?\d+'),
    re.compile(rb'"(completion_tokens|output_tokens|candidatesTokenCount)":-?\d+'),
    re.compile(rb'"(cached_tokens|cache_read_input_tokens|cachedContentTokenCount)":-?\d+'),
)


def as_json(text: str) -> bytes:
    """A direction's value as JSON, which has double quotes where a direction has single ones."""
    return text.replace("'", '"').encode()


class Restatement:
    """Changes the usage objects that pass, the first and all later ones."""

    def __init__(self, chosen: Hostile) -> None:
        self._first = _values(chosen, chosen.usage_value)
        self._later = _values(chosen, chosen.usage_second) if chosen.usage_second else self._first
        self._name = chosen.usage_name.encode()
        self._seen = 0

    def __call__(self, data: bytes) -> bytes:
        found = _USAGE.search(data)
        if found is None:
            return data
        self._seen += 1
        before, told = data[: found.start()], data[found.start() :]
        for pattern, value in zip(_NUMBERS, self._first if self._seen == 1 else self._later, strict=True):
            if value:
                told = pattern.sub(rb'"\1":' + value.replace(b"\\", rb"\\"), told)
        if self._name:
            told = _USAGE.sub(b'"%b":{' % self._name, told)
        return before + told


def _values(chosen: Hostile, text: str) -> Values:
    """What is empty stays as it is."""
    asked, told, cached, *_ = [as_json(part) for part in (*text.split(":"), "", "", "")]
    if chosen.report_input is not None:
        asked = b"%d" % chosen.report_input
    if chosen.report_output is not None:
        told = b"%d" % chosen.report_output
    return asked, told, cached
