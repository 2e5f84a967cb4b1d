"""The network contract: which addresses a workflow may reach, decided before a byte is sent.

Above: everything that speaks HTTP. A URL is read strictly, its host has to be listed, its name
is looked up once, and the connection goes to the address that was looked at: another answer to
a second question cannot come between.
Source: specification, section 12; RFC 6890 and its successors (special addresses).
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import urlsplit

from attr import frozen

from agentctl.errors import PolicyPreflight, PrerequisiteError
from agentctl.limits import CONNECT_SECONDS_DEFAULT
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from agentctl.jsonvalue import JsonObject

    Resolver: TypeAlias = Callable[[str, int], Awaitable[Iterable[str]]]

Address: TypeAlias = IPv4Address | IPv6Address

_PORTS: Final = {"http": 80, "https": 443}
_URL_CHARACTERS: Final = re.compile(r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# A last part like these makes resolvers read the whole name as a number.
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_NAME_CHARACTERS_MAX: Final = 253

_NEVER: Final = tuple(
    ip_network(one)
    for one in ("0.0.0.0/32", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8")
)
_PRIVATE: Final = tuple(
    ip_network(one)
    for one in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, and the metadata services of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays that are no more
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",  # reserved
        "::/96",  # compatible with IPv4, loopback among them
        "64:ff9b:1::/48",  # translation of one's own
        "100::/64",  # discard
        "2001::/23",  # Teredo, benchmarks, ORCHID
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
    )
)
# These carry an IPv4 address, which is the one that will be reached.
_CARRIERS: Final = (
    (ip_network("::ffff:0:0/96"), 0),
    (ip_network("::ffff:0:0:0/96"), 0),
    (ip_network("64:ff9b::/96"), 0),
    (ip_network("2002::/16"), 80),
)


@frozen(kw_only=True, eq=False, repr=False)
class NetworkPolicy(Value):
    """What a workflow's `policy` says of connections."""

    hosts: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    connect_seconds: float = CONNECT_SECONDS_DEFAULT
    max_response_bytes: int | None = None
    allow_private: bool = False
    allow_proxy: bool = False
    custom_ca: JsonObject | None = None

    @classmethod
    def from_definitions(cls, definitions: JsonObject) -> NetworkPolicy:
        """Read it from a plan."""
        policy = cast("JsonObject", definitions.get("policy") or {})
        network = cast("JsonObject", policy.get("network") or {})
        return cls(
            hosts=tuple(cast("list[str]", policy.get("networkAllowlist") or ())),
            schemes=tuple(cast("list[str]", network.get("allowedSchemes") or ())),
            ports=tuple(cast("list[int]", network.get("allowedPorts") or ())),
            connect_seconds=cast(
                "float", network.get("connectTimeoutSeconds") or CONNECT_SECONDS_DEFAULT
            ),
            max_response_bytes=cast("int | None", network.get("maxResponseBytes")),
            allow_private=bool(network.get("allowPrivate")),
            allow_proxy=bool(network.get("allowProxy")),
            custom_ca=cast("JsonObject | None", network.get("customCa")),
        )

    def response_bytes(self, cap: int) -> int:
        """Return how many bytes an answer may have, where a protocol itself allows `cap`."""
        return cap if self.max_response_bytes is None else min(cap, self.max_response_bytes)


@frozen(kw_only=True, eq=False, repr=False)
class Target(Value):
    """A URL in parts; `host` is in lower case, and an IPv6 address is without brackets."""

    scheme: str
    host: str
    port: int
    path: str
    query: str = ""

    @property
    def authority(self) -> str:
        """Return what the `Host` header says."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == _PORTS[self.scheme] else f"{shown}:{self.port}"

    @property
    def url(self) -> str:
        """Return the URL as it is written."""
        return self._url(self.authority)

    def pinned_url(self, address: str) -> str:
        """Return the URL that goes to an address, whatever its name is."""
        shown = f"[{address}]" if ":" in address else address
        return self._url(f"{shown}:{self.port}")

    def _url(self, authority: str) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{authority}{self.path}{query}"


def denied(why: str, help: str | None = None) -> PolicyPreflight:
    """Return the refusal of a destination."""
    return PolicyPreflight(f"network address is not authorized: {why}", help=help)


def parse_url(url: str) -> Target:
    """Read an absolute URL strictly. Raises PolicyPreflight.

    What two parsers could read in two ways is refused: credentials, back-slashes, white space,
    letters outside ASCII, zones, numbers that are not dotted quads, dots at the end.
    """
    if not _URL_CHARACTERS.fullmatch(url):
        raise denied("the URL has a character that may not stand there", "use ASCII and %XX")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise denied(f"the URL cannot be read: {error}") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise denied(f"the scheme {scheme!r} is none of http and https")
    if "@" in parts.netloc:
        raise denied("the URL holds credentials", "give them as a secret")
    if "#" in url:
        raise denied("the URL has a fragment")
    if port == 0 or parts.netloc.endswith(":"):
        raise denied("the port is missing or 0")
    host = _host(parts.netloc)
    return Target(
        scheme=scheme,
        host=host,
        port=port or _PORTS[scheme],
        path=parts.path or "/",
        query=parts.query,
    )


def _host(authority: str) -> str:
    """Return a host that can be read in one way only."""
    if authority.startswith("["):
        literal, _, rest = authority[1:].partition("]")
        try:
            address = IPv6Address(literal)
        except ValueError:
            raise denied(f"{literal[:64]!r} is no IPv6 address") from None
        if address.scope_id is not None or (rest and not rest.startswith(":")):
            raise denied(f"{literal[:64]!r} has a zone, or more behind it")
        return str(address)
    host = authority.partition(":")[0].lower()
    if len(host) > _NAME_CHARACTERS_MAX or not _NAME.fullmatch(host):
        raise denied(
            f"{host[:64]!r} is not the name of a host",
            "write it without a dot at the end, and an international name as xn--…",
        )
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise denied(f"{host[:64]!r} is not a plain IPv4 address") from None
    return host


def require_listed(target: Target, policy: NetworkPolicy) -> None:
    """Check scheme, host and port against the policy. Raises PolicyPreflight."""
    if policy.schemes and target.scheme not in policy.schemes:
        raise denied(
            f"the scheme {target.scheme} is not listed",
            "add it to policy.network.allowedSchemes",
        )
    if not any(is_match(target.host, one) for one in policy.hosts):
        raise denied(
            f"{target.host} is not listed", f"add {target.host} to policy.networkAllowlist"
        )
    if policy.ports and target.port not in policy.ports:
        raise denied(
            f"the port {target.port} is not listed", "add it to policy.network.allowedPorts"
        )


def is_match(host: str, pattern: str) -> bool:
    """Return whether a host is the one that is listed, or below a `*.` one."""
    wanted = pattern.lower()
    if wanted.startswith("*."):
        above = wanted[1:]
        is_below = host.endswith(above) and len(host) > len(above)
        return is_below and _address(host) is None
    wanted = wanted.removeprefix("[").removesuffix("]")
    address = _address(wanted)
    return host == (wanted if address is None else str(address))


async def authorize(target: Target, policy: NetworkPolicy, resolver: Resolver) -> tuple[str, ...]:
    """Look a host up once, and return the addresses that a connection may go to.

    One forbidden address refuses the whole answer. Raises PolicyPreflight, and
    PrerequisiteError when the name cannot be looked up in time.
    """
    require_listed(target, policy)
    literal = _address(target.host)
    answers = [str(literal)] if literal else await _looked_up(target, policy, resolver)
    found: set[Address] = set()
    for one in answers:
        address = _address(one)
        if address is None:
            raise denied(f"{target.host} has the address {one[:64]!r}, which cannot be read")
        found.add(address)
    for address in sorted(found, key=_order):
        _require_allowed(target, address, policy)
    if target.scheme == "http" and not policy.schemes:
        _require_private(target, found)
    return tuple(str(address) for address in sorted(found, key=_order))


def is_proxied(target: Target, policy: NetworkPolicy) -> bool:
    """Return whether the environment names a proxy, and the policy lets it be used."""
    if not policy.allow_proxy:
        return False
    from urllib.request import getproxies, proxy_bypass  # late: hardly anybody has a proxy

    return target.scheme in getproxies() and not proxy_bypass(target.host)


async def require_reachable(
    urls: Iterable[str], definitions: JsonObject, resolver: Resolver | None = None
) -> None:
    """Check every URL that a run may need, before anything of it is stored.

    Raises PolicyPreflight, and PrerequisiteError when a name cannot be looked up.
    """
    policy = NetworkPolicy.from_definitions(definitions)
    for url in urls:
        target = parse_url(url)
        if is_proxied(target, policy):
            require_listed(target, policy)
        else:
            await authorize(target, policy, resolver or system_resolver)


async def _looked_up(target: Target, policy: NetworkPolicy, resolver: Resolver) -> list[str]:
    import asyncio  # late: compiling needs no event loop

    try:
        async with asyncio.timeout(policy.connect_seconds):
            answers = list(await resolver(target.host, target.port))
    except TimeoutError:
        raise PrerequisiteError(
            f"{target.host} could not be looked up within {policy.connect_seconds:g} s"
        ) from None
    except (OSError, UnicodeError) as error:
        raise PrerequisiteError(f"{target.host} could not be looked up: {error}") from error
    if not answers:
        raise PrerequisiteError(f"{target.host} has no address")
    return answers


def _require_allowed(target: Target, address: Address, policy: NetworkPolicy) -> None:
    reached = _reached(address)
    shown = target.host if str(address) == target.host else f"{target.host} ({address})"
    if _is_in(reached, _NEVER) or _is_in(address, _NEVER):
        raise denied(f"{shown} is not the address of one host")
    if not policy.allow_private and is_private(address):
        raise denied(
            f"{shown} is private, local or reserved",
            "set policy.network.allowPrivate if it is meant",
        )


def _require_private(target: Target, found: Iterable[Address]) -> None:
    """Refuse plain HTTP to the open network, unless the policy asks for it by name."""
    if not all(is_private(one) for one in found):
        raise denied(
            f"{target.host} would be reached without encryption",
            "use https, or list http in policy.network.allowedSchemes",
        )


def is_private(address: Address) -> bool:
    """Return whether an address, or the one that it carries, is not a public one."""
    return _is_in(address, _PRIVATE) or _is_in(_reached(address), _PRIVATE)


def _reached(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one stands for, or the address itself."""
    if isinstance(address, IPv6Address):
        for network, shift in _CARRIERS:
            if address in network:
                return IPv4Address(int(address) >> shift & 0xFFFF_FFFF)
    return address


def _is_in(address: Address, networks: Iterable[object]) -> bool:
    return any(address in network for network in networks)  # type: ignore[operator]


def _address(text: str) -> Address | None:
    """Return an address without a zone, which names a network of this machine."""
    if "%" in text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def _order(address: Address) -> tuple[int, int]:
    return address.version, int(address)


async def system_resolver(host: str, port: int) -> list[str]:
    """Ask the operating system. Raises OSError."""
    import asyncio  # late: compiling needs no event loop
    import socket

    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for _, _, _, _, address in found]
