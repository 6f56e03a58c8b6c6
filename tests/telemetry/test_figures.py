"""The conventions' histograms."""

from tests.telemetry.ended import a_settled_call, an_attempt, an_ended_call
from tollkeeper.core.money.prices import Usage
from tollkeeper.telemetry import figures
from tollkeeper.telemetry.figures import GenAiFigures, Instrument, Labels


def counted(told: GenAiFigures, instrument: Instrument) -> dict[Labels, tuple[int, float]]:
    return {
        reading.labels: (sum(reading.counts), reading.total)
        for reading in told.readings()
        if reading.instrument is instrument
    }


def test_bounds_are_those_of_the_conventions() -> None:
    seconds, tokens = list(figures.DURATION_BOUNDS), list(figures.TOKEN_BOUNDS)
    assert seconds[:7] == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
    assert seconds[7:] == [1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
    assert tokens[:9] == [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536]
    assert tokens[9:] == [262144, 1048576, 4194304, 16777216, 67108864]


def test_a_call_is_counted_once_for_its_caller_and_once_for_each_attempt() -> None:
    told = GenAiFigures()
    attempts = [an_attempt(outcome="broken", ms=500), an_attempt()]
    told.note(an_ended_call(settled=a_settled_call(), attempts=attempts, first_byte_seconds=0.7))
    who = ("chat", "anthropic", "m")
    assert counted(told, figures.SERVER_DURATION) == {(*who, None): (1, 2.0)}
    assert counted(told, figures.CLIENT_DURATION) == {(*who, "broken"): (1, 0.5), (*who, None): (1, 1.0)}
    assert counted(told, figures.FIRST_TOKEN) == {who: (1, 0.7)}
    assert counted(told, figures.TOKEN_USAGE) == {(*who, "input"): (1, 10), (*who, "output"): (1, 20)}


def test_a_refused_call_has_a_duration_and_nothing_else() -> None:
    told = GenAiFigures()
    told.note(an_ended_call(code="rate_limit_exceeded", status=429, model=None, first_byte_seconds=0.7))
    assert {reading.instrument.name for reading in told.readings()} == {"gen_ai.server.request.duration"}
    assert counted(told, figures.SERVER_DURATION) == {("chat", "tollkeeper", None, "rate_limit_exceeded"): (1, 2.0)}


def test_no_tokens_are_no_value() -> None:
    told = GenAiFigures()
    told.note(an_ended_call(endpoint="/v1/embeddings", settled=a_settled_call(usage=Usage(7)), attempts=[an_attempt()]))
    assert counted(told, figures.TOKEN_USAGE) == {("embeddings", "anthropic", "m", "input"): (1, 7)}


def test_a_reading_stays_as_it_was() -> None:
    told = GenAiFigures()
    told.note(an_ended_call())
    [before] = told.readings()
    told.note(an_ended_call())
    assert sum(before.counts) == 1
    assert [sum(reading.counts) for reading in told.readings()] == [2]
