"""The directions of a malicious provider: their names, values and meanings.

Values that are JSON are written with single quotes for double ones: `usage_value="'7':[1]:1e400"`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MEGABYTES_MOST = 1_024
COUNT_MOST = 10_000_000

Endless = Literal["", "line", "comments", "empty", "pings", "blanks", "events", "fields"]
Framing = Literal["", "bad_size", "negative_size", "huge_size", "no_line_end", "extension", "trailers", "two_lengths"]
Leak = Literal["", "content", "error", "code", "type", "param", "status_text", "headers", "event"]
Letters = Literal["", "surrogate", "invalid_utf8", "nul", "control"]
MoreAfter = Literal["", "finish", "usage", "done"]
UsagePlace = Literal["end", "before", "every"]
Encoding = Literal["", "gzip", "deflate", "br", "unknown"]


class Hostile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call's hostile directions; the reference page of directions is made from this table."""

    # Where the output is.
    hide: Annotated[
        str, Meta(description="The output comes in this form, in streams and whole answers; see the forms below.")
    ] = ""
    ignore_cap: Annotated[bool, Meta(description="The caller's cap holds for neither `tokens` nor `thinking`.")] = False
    extra_choices: Annotated[int, Meta(description="So many choices more than were asked for.")] = 0
    index: Annotated[str, Meta(description="The index of every choice or block, as JSON: -1, 0.5, 'x'.")] = ""
    letters: Annotated[Letters, Meta(description="What stands before each piece of content.")] = ""
    # What is said about it.
    usage_value: Annotated[
        str, Meta(description="The usage says PROMPT:COMPLETION:CACHED, each any JSON; what is empty stays true.")
    ] = ""
    usage_second: Annotated[str, Meta(description="The same for every usage after the first, with `usage=twice`.")] = ""
    report_input: Annotated[int | None, Meta(description="The usage says so many input tokens.")] = None
    report_output: Annotated[int | None, Meta(description="The usage says so many output tokens.")] = None
    usage_name: Annotated[str, Meta(description="The usage has this name.")] = ""
    usage_place: Annotated[UsagePlace, Meta(description="Where a stream tells its usage. OpenAI's format.")] = "end"
    usage_unasked: Annotated[bool, Meta(description="A stream tells its usage though nobody asked.")] = False
    # Half answers, and more than one.
    stall_after_finish: Annotated[float, Meta(description="Milliseconds of silence after the finish reason.")] = 0
    early_finish: Annotated[bool, Meta(description="A finish reason before the content, too. OpenAI's format.")] = False
    more: Annotated[int, Meta(description="So many tokens more than the answer has, where `more_after` says.")] = 16
    more_after: Annotated[MoreAfter, Meta(description="What `more` tokens come after. OpenAI's format.")] = ""
    told_twice: Annotated[bool, Meta(description="The whole stream comes twice in one answer.")] = False
    # Without end: as many `bytes` as are wanted.
    endless: Annotated[Endless, Meta(description="What a stream sends without end before its finish reason.")] = ""
    header_count: Annotated[int, Meta(description="So many headers more.")] = 0
    header_bytes: Annotated[int, Meta(description="One header of this many bytes.")] = 0
    header_drip_ms: Annotated[float, Meta(description="Every byte of the headers comes alone, after this wait.")] = 0
    error_bytes: Annotated[int, Meta(description="An error whose body has this many bytes; see `raw_status`.")] = 0
    # Bombs.
    encoding: Annotated[Encoding, Meta(description="The answer is packed though nobody asked.")] = ""
    answer_mb: Annotated[int, Meta(description="A member of so many MB in the first JSON object.")] = 0
    logprobs_mb: Annotated[int, Meta(description="Log probabilities of so many MB. OpenAI's format.")] = 0
    deep: Annotated[int, Meta(description="A member nested this deep in the first JSON object.")] = 0
    digits: Annotated[int, Meta(description="A number of so many digits in the first JSON object.")] = 0
    duplicate_keys: Annotated[bool, Meta(description="The first JSON object has its members twice.")] = False
    # Bytes.
    bom: Annotated[bool, Meta(description="A byte order mark at the beginning of the body.")] = False
    cr_only: Annotated[bool, Meta(description="Lines of a stream end in CR.")] = False
    no_space: Annotated[bool, Meta(description="No space after `data:`.")] = False
    framing: Annotated[Framing, Meta(description="How the chunked framing of a stream is wrong.")] = ""
    # HTTP.
    raw_status: Annotated[
        int, Meta(description="Any status, with a body in any case: an error's from 300 on, the answer's below.")
    ] = 0
    error_in_200: Annotated[bool, Meta(description="An error with status 200.")] = False
    early_hints: Annotated[int, Meta(description="So many answers with status 103 before the answer.")] = 0
    switching: Annotated[bool, Meta(description="Status 101, then bytes of another protocol.")] = False
    redirect_status: Annotated[int, Meta(description="The status of `redirect`.")] = 0
    # What the provider was sent.
    leak: Annotated[Leak, Meta(description="Where the headers of the request come back, the key among them.")] = ""

    @property
    def refuses(self) -> bool:
        """Whether there is no answer, so that nothing is charged."""
        errors = self.leak in {"error", "code", "type", "param", "status_text"}
        return bool(errors or self.error_bytes or self.raw_status >= 300 or self.error_in_200 or self.switching)


NAMES = frozenset(Hostile.__struct_fields__)


def range_problem(chosen: Hostile) -> str | None:
    """What is wrong with the numbers, if anything is."""
    if not all(0 <= size <= MEGABYTES_MOST for size in (chosen.answer_mb, chosen.logprobs_mb)):
        return f"answer_mb and logprobs_mb are 0 to {MEGABYTES_MOST}"
    counts = (chosen.extra_choices, chosen.more, chosen.header_count, chosen.deep, chosen.digits, chosen.early_hints)
    if not all(0 <= count <= COUNT_MOST for count in counts):
        return f"extra_choices, more, header_count, deep, digits and early_hints are 0 to {COUNT_MOST}"
    if chosen.raw_status and not 200 <= chosen.raw_status <= 999:
        return "raw_status is 200 to 999"
    if chosen.redirect_status and not 300 <= chosen.redirect_status <= 399:
        return "redirect_status is 300 to 399"
    return None
