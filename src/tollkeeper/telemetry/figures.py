"""The conventions' histograms, counted in memory at the end of every call, and read when they are sent."""

from collections.abc import Iterator

import msgspec

from tollkeeper.metrics.series import Distribution
from tollkeeper.relay.ended import EndedCall
from tollkeeper.telemetry import conventions as names

SECONDS = "s"
TOKENS = "{token}"


class Instrument(msgspec.Struct, frozen=True):
    """A histogram of the conventions: the attributes that its values have here, and the bounds that it should have."""

    name: str
    unit: str
    about: str
    attributes: tuple[str, ...]
    bounds: tuple[float, ...]


# From a hundredth of a second on, twice as long each time.
DURATION_BOUNDS = tuple(round(0.01 * 2**step, 2) for step in range(14))
TOKEN_BOUNDS = tuple(float(4**step) for step in range(14))
FIRST_TOKEN_BOUNDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
OF_A_MODEL = (names.OPERATION, names.PROVIDER, names.REQUEST_MODEL)

SERVER_DURATION = Instrument(
    "gen_ai.server.request.duration",
    SECONDS,
    "From a call's head to the end of its answer.",
    (*OF_A_MODEL, names.ERROR),
    DURATION_BOUNDS,
)
FIRST_TOKEN = Instrument(
    "gen_ai.server.time_to_first_token",
    SECONDS,
    "From a call's head to the first piece of its answer, of answers that went out in pieces and went well.",
    OF_A_MODEL,
    FIRST_TOKEN_BOUNDS,
)
CLIENT_DURATION = Instrument(
    "gen_ai.client.operation.duration",
    SECONDS,
    "An attempt at a provider account, from its sending to the end of its answer.",
    (*OF_A_MODEL, names.ERROR),
    DURATION_BOUNDS,
)
TOKEN_USAGE = Instrument(
    "gen_ai.client.token.usage",
    TOKENS,
    "Model tokens that were charged.",
    (*OF_A_MODEL, names.TOKEN_TYPE),
    TOKEN_BOUNDS,
)

# The values of an instrument's attributes, in their order; None where there is none.
Labels = tuple[str | None, ...]


class HistogramReading(msgspec.Struct, frozen=True):
    """A histogram at one moment."""

    instrument: Instrument
    labels: Labels
    counts: tuple[int, ...]
    total: float


class Family:
    """All series of one instrument."""

    __slots__ = ("_instrument", "_series")

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument
        self._series: dict[Labels, Distribution] = {}

    def add(self, labels: Labels, value: float) -> None:
        found = self._series.get(labels)
        if found is None:
            found = self._series[labels] = Distribution(self._instrument.bounds)
        found.note(value)

    def readings(self) -> Iterator[HistogramReading]:
        for labels, found in self._series.items():
            yield HistogramReading(self._instrument, labels, tuple(found.counts), found.total)


class GenAiFigures:
    """The histograms of generative AI, of one worker process."""

    def __init__(self) -> None:
        self._server_duration = Family(SERVER_DURATION)
        self._first_token = Family(FIRST_TOKEN)
        self._client_duration = Family(CLIENT_DURATION)
        self._token_usage = Family(TOKEN_USAGE)

    def note(self, call: EndedCall) -> None:
        operation, model = names.OPERATIONS[call.endpoint], call.model
        provider = names.answering_provider(call)
        self._server_duration.add((operation, provider, model, call.code), call.seconds)
        if call.first_byte_seconds is not None and call.code is None:
            self._first_token.add((operation, provider, model), call.first_byte_seconds)
        if call.settled is None:
            return
        for attempt, seconds in names.timed_attempts(call):
            error = names.error_of_attempt(attempt, call.settled.ending)
            self._client_duration.add((operation, names.provider_of(attempt), model, error), seconds)
        tokens = names.tokens_of(call)
        if tokens is not None:
            for kind, count in (("input", tokens.input_units), ("output", tokens.output_units)):
                if count:
                    self._token_usage.add((operation, provider, model, kind), count)

    def readings(self) -> list[HistogramReading]:
        """How all of them stand; they are not changed by what comes later."""
        families = (self._server_duration, self._first_token, self._client_duration, self._token_usage)
        return [reading for family in families for reading in family.readings()]
