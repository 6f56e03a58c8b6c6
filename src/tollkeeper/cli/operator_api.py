"""Acts through the operator API: one request each, and every refusal in the words and with the exit code of a command.

Rules of this file
1. Nothing comes from the environment: no proxy, cookie or redirect. Certificates are checked.
2. A request that may have been done is never sent again by itself. Whoever typed the command is told what is known.
"""

import ssl

import msgspec

from tollkeeper import __version__
from tollkeeper.cli.command import LOOK_FIRST
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.speak import Mistake
from tollkeeper.office.act import Act, Result, Wish
from tollkeeper.office.wire import (
    ONCE,
    PREFIX,
    REPLAYED,
    AdminError,
    ErrorAnswer,
    WishOnWire,
    names_once,
    result_read,
    written,
)
from tollkeeper.ports import AlreadyOnFile, Failure, NotOnFile, UpstreamFailed, UpstreamRequest
from tollkeeper.providers.http import HttpAnswer, HttpUpstream
from tollkeeper.settings import OperatorAccess
from tollkeeper.steady import Timeout

CONNECT_SECONDS = 10.0
# Some acts look at everything: the chain of the audit trail, a trial of a provider.
ANSWER_SECONDS = 180.0
ANSWER_BYTES_MOST = 32 * 1024 * 1024
# What a refusal is raised as, so that a command may have an answer of its own to it.
KINDS = {(404, "not_found"): NotOnFile, (409, "already_there"): AlreadyOnFile}


class ApiAnswer(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    # An earlier request of the same name got it.
    replayed: bool


async def ask(access: OperatorAccess, act: Act[Wish, Result], wish: Wish) -> Result:
    """Raise Mistake, NotOnFile or AlreadyOnFile."""
    sent = written(act, wish)
    if act.moves_money and not names_once(sent.once):
        raise Mistake("The operator API takes ids of 1 to 255 printable ASCII characters. Nothing was done.")
    answer = await _exchange(access, sent)
    if answer.status != 200:
        raise refusal_of(access.url, sent, answer)
    try:
        return result_read(act, answer.body, replayed=answer.replayed)
    except msgspec.MsgspecError:
        raise Mistake(
            f"{access.url} did it, and answered in a form that this command does not know. "
            f"Is it of the same version as this one ({__version__})?"
        ) from None


def refusal_of(url: str, sent: WishOnWire, answer: ApiAnswer) -> Exception:
    """What an answer that is no result says, as a command says it."""
    try:
        error = msgspec.json.decode(answer.body, type=ErrorAnswer).error
    except msgspec.MsgspecError:
        return _of_a_stranger(url, sent, answer.status)
    if kind := KINDS.get((answer.status, error.code)):
        return kind(error.message)
    if answer.status == 503:
        return Mistake(f"{url}: {error.message}{_repeat(sent)}", ExitCode.STORE)
    if answer.status >= 500:
        return Mistake(f"{url}: {error.message} Request {error.request_id}.{_repeat(sent)}")
    return Mistake(error.message + (_repeat(sent) if _is_under_way(error) else ""))


async def _exchange(access: OperatorAccess, sent: WishOnWire) -> ApiAnswer:
    headers = [("authorization", f"Bearer {access.key.reveal()}")]
    if sent.body is not None:
        headers.append(("content-type", "application/json"))
    if sent.once:
        headers.append((ONCE, sent.once))
    # As it was written: a slash in a name must stay %2F.
    address = f"{access.url}{PREFIX}{sent.path}" + (f"?{sent.query}" if sent.query else "")
    request = UpstreamRequest(address, tuple(headers), sent.body or b"", ANSWER_SECONDS, method=sent.method)
    client = HttpUpstream(connect_seconds=CONNECT_SECONDS, idle_seconds=ANSWER_SECONDS, private_allowed=True)
    try:
        async with Timeout(ANSWER_SECONDS):
            answer = await client.send(request)
            return ApiAnswer(answer.status, await _bounded(answer), answer.header(REPLAYED) is not None)
    except UpstreamFailed as problem:
        if problem.failure is Failure.UNREACHABLE:
            raise Mistake(_not_reached(access.url, problem.__cause__), ExitCode.STORE) from None
        raise _lost(access.url, sent) from None
    except TimeoutError:
        raise _lost(access.url, sent) from None
    except ValueError as problem:
        raise Mistake(_not_reached(access.url, problem), ExitCode.STORE) from None
    finally:
        await client.close()


async def _bounded(answer: HttpAnswer) -> bytes:
    """Raise UpstreamFailed for more than any act answers."""
    body = bytearray()
    while piece := await answer.read():
        body += piece
        if len(body) > ANSWER_BYTES_MOST:
            raise UpstreamFailed(Failure.BROKEN)
    return bytes(body)


def _not_reached(url: str, why_not: BaseException | None) -> str:
    if isinstance(why_not, ssl.SSLCertVerificationError):
        why = f"its certificate is not valid: {why_not.verify_message}"
    elif isinstance(why_not, OSError):
        why = why_not.strerror or str(why_not)
    elif isinstance(why_not, ValueError):
        why = str(why_not)
    else:
        why = f"no connection within {CONNECT_SECONDS:.0f} s"
    return f"The operator API at {url} cannot be reached ({why}). Nothing was done. Is TOLLKEEPER_OPERATOR_URL right?"


def _lost(url: str, sent: WishOnWire) -> Mistake:
    """It may have been done, and nobody said so."""
    if sent.method == "GET":
        return Mistake(f"The operator API at {url} did not answer. Nothing was changed.", ExitCode.STORE)
    told = f"The operator API at {url} did not answer, and whether it was done is not known."
    return Mistake(told + (_repeat(sent) or f"\n{LOOK_FIRST}"), ExitCode.STORE)


def _of_a_stranger(url: str, sent: WishOnWire, status: int) -> Mistake:
    """A proxy or another server answered. One that is before the console says 502 or 504 for what it passed on."""
    if status >= 500:
        return _lost(url, sent)
    return Mistake(
        f"There is no operator API at {url}: it answered {status}. Nothing was done. "
        "Is TOLLKEEPER_OPERATOR_URL the console's address?"
    )


def _is_under_way(error: AdminError) -> bool:
    return error.code == "still_under_way"


def _repeat(sent: WishOnWire) -> str:
    """What to do about money that may have moved."""
    if not sent.once:
        return ""
    return (
        f"\nRepeat the command with the same id, '{sent.once}' (of `credit`: --source-id). "
        "It is then done once, whatever happened now."
    )
