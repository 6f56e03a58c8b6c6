"""Who is calling, behind proxies that are trusted and others that are not."""

from ipaddress import ip_address

import pytest

from tollkeeper.core.client_ip import client_ip, is_in, read_networks, written

TRUSTED = read_networks(["10.0.0.0/8", "192.0.2.7", "fd00::/8"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("198.51.100.1", [], "198.51.100.1"),
        # Whoever is not trusted may say what it likes.
        ("198.51.100.1", ["203.0.113.9"], "198.51.100.1"),
        ("198.51.100.1", ["10.0.0.1"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.5"], "198.51.100.5"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.5, 10.2.3.4"], "198.51.100.5"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.5, 192.0.2.7"], "198.51.100.5"),
        ("10.0.0.1", [" 203.0.113.9:4711 "], "203.0.113.9"),
        ("10.0.0.1", ["[2001:db8:1:2:3::4]:4711"], "2001:db8:1:2::/64"),
        # Our own proxies, and what is no IP, are nobody.
        ("10.0.0.1", [], ""),
        ("10.0.0.1", ["10.0.0.2"], ""),
        ("10.0.0.1", ["unknown"], ""),
        ("10.0.0.1", ["203.0.113.9, unknown"], ""),
        ("", ["203.0.113.9"], ""),
        ("unix:", [], ""),
        # One client has a whole /64, and IPv4 in IPv6 clothes is IPv4.
        ("2001:db8:1:2:3::4", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", [], "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.1", [], "198.51.100.1"),
        ("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("fd00::1", ["203.0.113.9"], "203.0.113.9"),
        ("fe80::1%eth0", [], "fe80::/64"),
    ],
)
def test_the_client_is_the_last_hop_that_is_not_ours(peer: str, forwarded: list[str], client: str) -> None:
    assert written(client_ip(peer, forwarded, TRUSTED)) == client


@pytest.mark.parametrize("text", ["10.0.0.1/8", "hello", "10.0.0.0/33"])
def test_a_network_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text.split("/", maxsplit=1)[0]):
        read_networks([text])


@pytest.mark.parametrize(
    ("network", "read"),
    [
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ("::ffff:192.0.2.1", "192.0.2.1/32"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::/0", "::/0"),
        ("2001:db8::/32", "2001:db8::/32"),
    ],
)
def test_a_network_of_ipv4_in_ipv6_clothes_is_ipv4(network: str, read: str) -> None:
    assert [str(each) for each in read_networks([network])] == [read]


@pytest.mark.parametrize("network", ["192.0.2.0/24", "::ffff:192.0.2.0/120"])
@pytest.mark.parametrize("ip", ["192.0.2.1", "::ffff:192.0.2.1"])
def test_whatever_clothes_it_wears_an_ip_is_in_its_network(network: str, ip: str) -> None:
    assert is_in(ip_address(ip), read_networks([network]))
    assert not is_in(ip_address("2001:db8::1"), read_networks([network]))
