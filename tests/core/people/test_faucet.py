"""The networks and the people on which the faucet counts."""

import pytest

from tollkeeper.core.people.faucet import Networks, faucet_networks, folded_email, person_digest


@pytest.mark.parametrize(
    ("ip", "networks"),
    [
        ("192.0.2.7", Networks("192.0.2.0/24")),
        ("192.0.2.255", Networks("192.0.2.0/24")),
        ("192.0.3.7", Networks("192.0.3.0/24")),
        ("2001:db8::7", Networks("2001:db8::/64", "2001:db8::/48")),
        ("2001:db8:0:0:ffff::1", Networks("2001:db8::/64", "2001:db8::/48")),
        ("2001:db8:0:1::1", Networks("2001:db8:0:1::/64", "2001:db8::/48")),
        ("2001:db8:1:1::1", Networks("2001:db8:1:1::/64", "2001:db8:1::/48")),
        ("::ffff:192.0.2.7", Networks("192.0.2.0/24")),
        ("[2001:db8::7]:443", Networks("2001:db8::/64", "2001:db8::/48")),
        ("", None),
        ("example.com", None),
    ],
)
def test_a_client_is_its_networks(ip: str, networks: Networks | None) -> None:
    assert faucet_networks(ip) == networks


@pytest.mark.parametrize(
    ("email", "folded"),
    [
        ("ada@example.com", "ada@example.com"),
        (" Ada@Example.COM ", "ada@example.com"),
        ("ada+one@example.com", "ada@example.com"),
        ("ada+one+two@example.com", "ada@example.com"),
        # Elsewhere dots may tell people apart.
        ("a.da@example.com", "a.da@example.com"),
        ("a.d.a+x@gmail.com", "ada@gmail.com"),
        ("a.da@googlemail.com", "ada@gmail.com"),
        ("a.da@mail.gmail.com", "a.da@mail.gmail.com"),
        # Whoever has nothing but a tag is not everybody who has one.
        ("+one@example.com", "+one@example.com"),
    ],
)
def test_a_person_is_known_by_the_folded_email(email: str, folded: str) -> None:
    assert folded_email(email) == folded
    assert person_digest(email) == person_digest(folded)


def test_others_are_other_people() -> None:
    emails = ["ada@example.com", "bob@example.com", "ada@example.org", "ada@gmail.com"]
    assert len({person_digest(email) for email in emails}) == len(emails)
