import pytest

from tollkeeper.core.outward import is_public_host, is_public_url

PUBLIC = [
    "api.openai.com",
    "API.OpenAI.com",
    "pictures.example",
    "a.b-c.example.org.",
    "bücher.example",
    "xn--bcher-kva.example",
    "under_score.example.org",
    "8.8.8.8",
    "8.8.8.8.",
    "[2606:4700:4700::1111]",
    "2606:4700:4700::1111",
    "127.example.org",
    "0x7f.example.org",
]
INWARD = {
    "loopback": "127.0.0.1",
    "loopback, another": "127.9.9.9",
    "loopback, shortened": "127.1",
    "loopback, shortened to three": "127.0.1",
    "loopback, hexadecimal": "0x7f.1",
    "loopback, hexadecimal as one number": "0x7f000001",
    "loopback, hexadecimal in capitals": "0X7F.0.0.1",
    "loopback, decimal": "2130706433",
    "loopback, octal": "0177.0.0.1",
    "loopback, octal as one number": "017700000001",
    "loopback with a dot behind": "127.0.0.1.",
    "loopback with two dots behind": "127.0.0.1..",
    "loopback in circles": "①②⑦.⓪.⓪.①",
    "loopback in wide digits": "１２７.０.０.１",  # noqa: RUF001
    "loopback with ideographic dots": "127。0。0。1",
    "loopback with half-width dots": "127｡0｡0｡1",
    "loopback in IPv6": "[::1]",
    "loopback in IPv6, bare": "::1",
    "loopback in IPv6, written out": "0:0:0:0:0:0:0:1",
    "loopback, mapped": "[::ffff:127.0.0.1]",
    "loopback, mapped in hexadecimal": "[::ffff:7f00:1]",
    "loopback, compatible": "[::127.0.0.1]",
    "loopback, translated": "[64:ff9b::7f00:1]",
    "loopback, 6to4": "[2002:7f00:1::]",
    "Teredo": "[2001:0:7f00:1::]",
    "nowhere": "0.0.0.0",  # noqa: S104
    "nowhere, shortened": "0",
    "nowhere, hexadecimal": "0x0",
    "nowhere, hexadecimal of nothing": "0x",
    "nowhere in IPv6": "[::]",
    "private": "10.0.0.1",
    "private, octal that is public": "010.8.8.8",
    "private, in the middle": "172.16.0.1",
    "private, at home": "192.168.1.1",
    "shared": "100.64.0.1",
    "metadata": "169.254.169.254",
    "metadata, decimal": "2852039166",
    "metadata, octal": "0251.0376.0251.0376",
    "metadata, mapped": "[::ffff:169.254.169.254]",
    "metadata in IPv6": "[fd00:ec2::254]",
    "metadata of Alibaba": "100.100.100.200",
    "metadata of Oracle": "192.0.0.192",
    "metadata by name": "metadata.google.internal",
    "metadata by name with a dot": "metadata.google.internal.",
    "host agent of Azure": "168.63.129.16",
    "link-local": "[fe80::1]",
    "link-local with a zone": "[fe80::1%25eth0]",
    "public with a zone": "[2606:4700:4700::1111%eth0]",
    "multicast": "224.0.0.1",
    "multicast in IPv6": "[ff02::1]",
    "broadcast": "255.255.255.255",
    "documentation": "[2001:db8::1]",
    "localhost": "localhost",
    "localhost in capitals": "LOCALHOST",
    "localhost with a dot": "localhost.",
    "below localhost": "app.localhost",
    "localhost with a long s": "localho\u017ft",
    "one label": "redis",
    "mDNS": "printer.local",
    "reversed": "1.0.0.127.in-addr.arpa",
    "nothing": "",
    "a dot": ".",
    "empty label": "a..example.org",
    "percent": "%31%32%37.0.0.1",
    "user": "a@example.org",
    "blank": "exa mple.org",
    "port": "example.org:80",
    "IPv4 in brackets": "[8.8.8.8]",
    "name in brackets": "[example.org]",
    "half a bracket": "[2606:4700:4700::1111",
    "five numbers": "1.2.3.4.5",
    "too large": "999.1.1.1",
    "too long": "a." * 130 + "org",
    "long label": "a" * 64 + ".org",
}


@pytest.mark.parametrize("host", PUBLIC)
def test_hosts_of_the_internet_are_public(host: str) -> None:
    assert is_public_host(host)
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    assert is_public_url(f"https://{shown}/a.png?b=c#d")
    assert is_public_url(f"HTTP://{shown}:8080")


@pytest.mark.parametrize("host", INWARD.values(), ids=INWARD)
def test_hosts_that_lead_inward_or_can_be_read_in_two_ways_are_not(host: str) -> None:
    assert not is_public_host(host)


@pytest.mark.parametrize("host", [host for host in INWARD.values() if host != "example.org:80"])
def test_nor_are_addresses_with_them(host: str) -> None:
    for url in (f"http://{host}/a.png", f"https://{host}:443/a.png", f"http://{host}"):
        assert not is_public_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "ftp://example.org/a.png",
        "gopher://example.org/_x",
        "//example.org/a.png",
        "/etc/passwd",
        "example.org/a.png",
        "https:example.org/a.png",
        "https:/example.org/a.png",
        "https:///example.org/a.png",
        "https://",
        "",
        "http://example.org@127.0.0.1/",
        "http://127.0.0.1@example.org/",
        "http://user:word@example.org/",
        "http://127.0.0.1\\@example.org/",
        "http://example.org\\.127.0.0.1/",
        "http://127.0.0.1\t.example.org/",
        "http://exam\nple.org/",
        " http://example.org/",
        "http://example.org/ ",
        "http://example.org:x/",
        "http://example.org:80:80/",
        "http://example.org:/",
        "http://example.org:123456/",
        "http://example.org%2f@127.0.0.1/",
        "jar:http://example.org/a!/b",
        "data:image/png;base64,AA==",
        "https://example.org/" + "a" * 8_192,
    ],
)
def test_addresses_of_other_kinds_and_of_two_minds_are_refused(url: str) -> None:
    assert not is_public_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "https://example.org?x=http://127.0.0.1/@",
        "https://example.org/日本/a.png",
        "https://example.org/a@b.png",
        "http://8.8.8.8:8080/a.png",
    ],
)
def test_what_stands_behind_the_host_is_the_hosts_own_affair(url: str) -> None:
    assert is_public_url(url)
