"""What an error answer of a provider means: its code, whether to try again, and when.

Above: the executor and the adapters. What a provider says itself is definite. A gateway that lost
the provider speaks only for itself: the call may be done, and billed, behind it.
Source: specification, sections 5 and 15; RFC 9110, sections 10.2.3 (Retry-After), 15.6.3 and
15.6.5 (gateways); Cloudflare's statuses 520 and 524 (answer not understood, answer too late).
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from agentctl.effects.models.reading import parse
from agentctl.errors import EffectError
from agentctl.limits import RETRY_AFTER_SECONDS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.jsonvalue import JsonObject, JsonValue

_MESSAGE_CHARACTERS_MAX: Final = 500
_QUOTA_CODES: Final = frozenset(
    {"insufficient_quota", "billing_error", "billing_hard_limit_reached"}
)
_BUSY_CODES: Final = frozenset({"rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"})
_DOWN_CODES: Final = frozenset(
    {"server_error", "overloaded_error", "api_error", "timeout_error", "UNAVAILABLE", "INTERNAL"}
)
_STATUS_NAMES: Final = {
    401: "credential",
    402: "quota",
    403: "credential",
    429: "busy",
    408: "down",
    502: "gateway",
    504: "gateway",
    520: "gateway",
    524: "gateway",
}


def failure_of_answer(
    status: int, headers: Mapping[str, str], data: bytes, provider: str
) -> EffectError:
    """Return the error for an answer whose status is not a success.

    `headers` have lowercase names.
    """
    body = _error_body(data)
    message, code = _told(body)
    what = _STATUS_NAMES.get(status, "down" if status >= 500 else "rejected")
    if what == "busy" and code in _QUOTA_CODES:
        what = "quota"
    text = f"{provider} answered {status}{f': {message}' if message else ''}"
    return _failure(what, text, _retry_after(headers, body))


def failure_of_report(report: JsonObject, provider: str) -> EffectError:
    """Return the error for a failure that a provider reports inside an answer or a stream."""
    message, code = _told({"error": report})
    what = "rejected"
    if code in _QUOTA_CODES:
        what = "quota"
    elif code in _BUSY_CODES:
        what = "busy"
    elif code in _DOWN_CODES:
        what = "down"
    text = f"{provider} reported {code or 'a failure'}{f': {message}' if message else ''}"
    return _failure(what, text, None)


def _failure(what: str, text: str, after: float | None) -> EffectError:
    detail: JsonValue = None if after is None else {"retryAfterSeconds": after}
    if what == "quota":
        return EffectError(text, code="quota_exceeded", detail=detail)
    if what == "busy":
        return EffectError(text, code="rate_limited", retryable=True, detail=detail)
    if what == "down":
        return EffectError(text, code="provider_unavailable", retryable=True, detail=detail)
    if what == "gateway":
        return EffectError(text, code="connection_lost", ambiguous=True, detail=detail)
    if what == "credential":
        return EffectError(text, code="credential_refused")
    return EffectError(text, code="provider_rejected")


def _error_body(data: bytes) -> JsonObject:
    """Return the error's body; whatever it may be, the status has said the main thing."""
    try:
        value = parse(data)
    except EffectError:
        return {"error": {"message": data[:_MESSAGE_CHARACTERS_MAX].decode("utf-8", "replace")}}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    return value if isinstance(value, dict) else {}


def _told(body: JsonObject) -> tuple[str, str]:
    """Return the message and the code of any provider's form of an error."""
    error = body.get("error")
    if isinstance(error, str):
        return error[:_MESSAGE_CHARACTERS_MAX], ""
    inner = error if isinstance(error, dict) else body
    message = inner.get("message")
    codes = (inner.get("code"), inner.get("status"), inner.get("type"))
    code = next((one for one in codes if isinstance(one, str)), "")
    return (message if isinstance(message, str) else "")[:_MESSAGE_CHARACTERS_MAX].strip(), code


def _retry_after(headers: Mapping[str, str], body: JsonObject) -> float | None:
    """Return the seconds after which the provider wants to be asked again, if it says so."""
    found = (
        _number(headers.get("retry-after-ms"), 0.001),
        _number(headers.get("retry-after"), 1),
        _until(headers.get("retry-after"), headers.get("date")),
        _retry_delay(body),
    )
    return next((min(one, RETRY_AFTER_SECONDS_MAX) for one in found if one is not None), None)


def _number(text: str | None, unit_seconds: float) -> float | None:
    if text is None or not text.strip().replace(".", "", 1).isdecimal():
        return None
    return float(text) * unit_seconds


def _until(text: str | None, date: str | None) -> float | None:
    """Return the distance of two HTTP dates, so that no clock of ours comes into it."""
    try:
        seconds = parsedate_to_datetime(text or "") - parsedate_to_datetime(date or "")
    except (TypeError, ValueError):
        return None
    return max(seconds.total_seconds(), 0.0)


def _retry_delay(body: JsonObject) -> float | None:
    """Return the delay of a `google.rpc.RetryInfo`."""
    error = body.get("error")
    details: JsonValue = error.get("details") if isinstance(error, dict) else None
    for one in details if isinstance(details, list) else []:
        delay = one.get("retryDelay") if isinstance(one, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1], 1)
    return None
