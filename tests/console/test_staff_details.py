"""Details of acts on record read as words, not as a program's values."""

from tollkeeper.console.staff.details import details_but, details_of

DETAIL = {
    "usd_micros": 100_000,
    "rewards": True,
    "account": None,
    "scopes": ["money", "read"],
    "until": "2026-11-18T08:31:21.827681+00:00",
    "counted": {"calls": 301, "last": None},
    "note": "",
    "reason": "Hush-money Took it, and more than that",
}


def test_details_are_words() -> None:
    assert details_of(DETAIL) == [
        ("usd micros", "100000"),
        ("rewards", "yes"),
        ("account", "none"),
        ("scopes", "money, read"),
        ("until", "2026-11-18 08:31:21"),
        ("counted", "calls 301, last none"),
        ("note", "none"),
        ("reason", "Hush-money Took it, and more than that"),
    ]


def test_where_others_tell_the_rest_nothing_empty_is_told() -> None:
    assert [name for name, _ in details_but({"reason"}, DETAIL)] == [
        "usd micros",
        "rewards",
        "scopes",
        "until",
        "counted",
    ]


def test_a_reason_that_begins_like_a_moment_is_told_whole() -> None:
    assert details_of({"reason": "2026-11-18T08:31:21 was the time, and more"}) == [
        ("reason", "2026-11-18T08:31:21 was the time, and more")
    ]
