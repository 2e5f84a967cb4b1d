"""Which addresses may be reached, by URL, by list and by what a name leads to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from agentctl.effects.network import NetworkPolicy, Target, authorize, is_match, parse_url
from agentctl.errors import AgentctlError, PolicyPreflight, PrerequisiteError

if TYPE_CHECKING:
    from collections.abc import Iterable

OPEN = NetworkPolicy(hosts=("api.example.com",))


def allowed(
    url: str, policy: NetworkPolicy = OPEN, answers: Iterable[str] = ("8.8.8.8",)
) -> tuple[str, ...]:
    """Return the addresses that a URL may be reached at."""

    async def resolver(host: str, port: int) -> Iterable[str]:
        assert (host, port) == (parse_url(url).host, parse_url(url).port)
        return answers

    return asyncio.run(authorize(parse_url(url), policy, resolver))


def refused(url: str, policy: NetworkPolicy = OPEN, answers: Iterable[str] = ()) -> str:
    """Return why a URL may not be reached."""
    with pytest.raises(PolicyPreflight) as caught:
        allowed(url, policy, answers)
    assert caught.value.message.startswith("network address is not authorized: ")
    assert caught.value.exit_code == 3
    return caught.value.message


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pass@api.example.com/",
        "https://user@api.example.com/",
        "https://api.example.com@evil.example/",
        "https://@api.example.com/",
        "https://evil.example\\@api.example.com/",
        "https://api.example.com#@evil.example/",
        "https://api.example.com./",
        "https://.example.com/",
        "https://api..example.com/",
        "https://-api.example.com/",
        "https://api.example.com:0/",
        "https://api.example.com:/",
        "https://api.example.com:99999/",
        "https://api.example.com:80 /",
        "https:///v1",
        "https:api.example.com",
        "//api.example.com/",
        "ftp://api.example.com/",
        "file:///etc/passwd",
        "http+unix://%2Frun%2Fdocker.sock/",
        "unix:/run/docker.sock",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://0177.0.0.1/",
        "https://127.0.0.01/",
        "https://127.0.0.1./",
        "https://1.2.3.4.5/",
        "https://256.0.0.1/",
        "https://api.example.1/",
        "https://[::1/",
        "https://[::1]x/",
        "https://[fe80::1%25eth0]/",
        "https://[fe80::1%eth0]/",
        "https://[127.0.0.1]/",
        "https://[v1.fe80]/",
        "https://b\u00fccher.example/",
        "https://api\u3002example.com/",
        "https://\uff41pi.example.com/",
        "https://api%2eexample.com/",
        "https://api.example.com/\r\nx: y",
        "https://api.example.com/\tpath",
        "https://api.example.com/a b",
        " https://api.example.com/",
        "",
        "https://" + "a" * 64 + ".example.com/",
        "https://" + "a." * 130 + "com/",
    ],
)
def test_a_url_that_can_be_read_in_two_ways_is_refused(url: str) -> None:
    refused(url, NetworkPolicy(hosts=("*.example.com", "api.example.com"), allow_private=True))


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://API.Example.COM", ("https", "api.example.com", 443, "/", "")),
        ("HTTPS://api.example.com:8443/v1?a=1", ("https", "api.example.com", 8443, "/v1", "a=1")),
        ("http://[::FFFF:7f00:1]:80/x", ("http", "::ffff:7f00:1", 80, "/x", "")),
        ("https://xn--bcher-kva.example/", ("https", "xn--bcher-kva.example", 443, "/", "")),
    ],
)
def test_a_url_is_read_in_parts(url: str, target: tuple[str, str, int, str, str]) -> None:
    read = parse_url(url)
    assert (read.scheme, read.host, read.port, read.path, read.query) == target


@pytest.mark.parametrize(
    ("pattern", "host", "matches"),
    [
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "b.a.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*.example.com", "example.com.evil", False),
        ("*.EXAMPLE.com", "a.example.com", True),
        ("example.com", "example.com", True),
        ("example.com", "a.example.com", False),
        ("*", "example.com", False),
        ("*.1", "127.0.0.1", False),
        ("*.0.0.1", "127.0.0.1", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("[::1]", "::1", True),
        ("0:0::1", "::1", True),
    ],
)
def test_a_pattern_matches_whole_labels_below_it(pattern: str, host: str, matches: bool) -> None:
    assert is_match(host, pattern) is matches


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "10.0.0.1",
        "172.31.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "240.0.0.1",
        "0.1.2.3",
        "192.0.0.8",
        "::1",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "2001:db8::1",
        "2001::1",
        "100::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
    ],
)
def test_one_private_address_refuses_the_whole_answer(address: str) -> None:
    message = refused("https://api.example.com/", answers=["8.8.8.8", address])
    assert "private" in message
    private = NetworkPolicy(hosts=OPEN.hosts, allow_private=True)
    assert len(allowed("https://api.example.com/", private, ["8.8.8.8", address])) == 2


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "255.255.255.255", "224.0.0.1", "ff02::1", "::", "::ffff:0.0.0.0", "64:ff9b::"],
)
def test_an_address_of_no_one_host_is_always_refused(address: str) -> None:
    private = NetworkPolicy(hosts=OPEN.hosts, allow_private=True)
    assert "not the address of one host" in refused("https://api.example.com/", private, [address])


@pytest.mark.parametrize("answer", ["fe80::1%eth0", "not an address", ""])
def test_an_answer_that_is_no_plain_address_is_refused(answer: str) -> None:
    private = NetworkPolicy(hosts=OPEN.hosts, allow_private=True)
    with pytest.raises(PolicyPreflight):
        allowed("https://api.example.com/", private, [answer])


def test_addresses_are_sorted_and_told_once() -> None:
    answers = ["2606:4700::1", "9.9.9.9", "8.8.8.8", "9.9.9.9"]
    assert allowed("https://api.example.com/", answers=answers) == (
        "8.8.8.8",
        "9.9.9.9",
        "2606:4700::1",
    )


def test_a_host_that_is_not_listed_is_refused() -> None:
    assert "networkAllowlist" not in refused("https://other.example/")
    assert "other.example is not listed" in refused("https://other.example/")


def test_a_port_or_scheme_that_is_not_listed_is_refused() -> None:
    policy = NetworkPolicy(hosts=OPEN.hosts, ports=(443,), schemes=("https",))
    assert "the port 8443 is not listed" in refused("https://api.example.com:8443/", policy)
    assert "the scheme http is not listed" in refused("http://api.example.com/", policy)


def test_plain_http_to_the_open_network_has_to_be_asked_for() -> None:
    assert "without encryption" in refused("http://api.example.com/", answers=["8.8.8.8"])
    listed = NetworkPolicy(hosts=OPEN.hosts, schemes=("http",))
    assert allowed("http://api.example.com/", listed) == ("8.8.8.8",)


def test_an_address_in_the_url_is_not_looked_up() -> None:
    async def never(host: str, port: int) -> Iterable[str]:
        raise AssertionError(host)

    target = parse_url("https://127.0.0.1/")
    policy = NetworkPolicy(hosts=("127.0.0.1",))
    with pytest.raises(PolicyPreflight, match="network address is not authorized"):
        asyncio.run(authorize(target, policy, never))


@pytest.mark.parametrize("failure", [OSError("no such name"), UnicodeError("label too long")])
def test_a_name_that_leads_nowhere_is_a_missing_prerequisite(failure: Exception) -> None:
    async def lost(host: str, port: int) -> Iterable[str]:
        raise failure

    with pytest.raises(PrerequisiteError) as caught:
        asyncio.run(authorize(parse_url("https://api.example.com/"), OPEN, lost))
    assert caught.value.exit_code == 6


def test_a_name_that_is_not_answered_in_time_is_a_missing_prerequisite() -> None:
    async def silent(host: str, port: int) -> Iterable[str]:
        await asyncio.Event().wait()
        return ()

    policy = NetworkPolicy(hosts=OPEN.hosts, connect_seconds=0.01)
    with pytest.raises(AgentctlError, match="within"):
        asyncio.run(authorize(parse_url("https://api.example.com/"), policy, silent))


def test_a_pinned_url_keeps_the_path_and_the_port() -> None:
    target = Target(scheme="https", host="api.example.com", port=443, path="/v1", query="a=1")
    assert target.pinned_url("8.8.8.8") == "https://8.8.8.8:443/v1?a=1"
    assert target.pinned_url("2606::1") == "https://[2606::1]:443/v1?a=1"
    assert (target.authority, target.url) == ("api.example.com", "https://api.example.com/v1?a=1")
