"""Files that an operator gives with a finding: evidence, a result, and the schema of a result.

Above: `effects reconcile` and the operator's dialogue. Below: bounded reading. What a file holds
is kept with the finding: always its digest and size, its text only when that is short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.errors import EvidenceRefused, ResultRefused, SourceError
from agentctl.limits import EVIDENCE_BYTES_MAX, EVIDENCE_TEXT_BYTES_MAX, OUTPUT_BYTES_MAX

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject, JsonValue


def evidence_of(file: str, option: str = "--evidence-file") -> JsonObject:
    """Return `{file, digest, sizeBytes, mediaHint, text?}` of a file. Raises EvidenceRefused."""
    import os.path
    from hashlib import sha256
    from mimetypes import guess_type

    data = read_bounded(file, option, "EVIDENCE_BYTES_MAX", EVIDENCE_BYTES_MAX)
    kept: JsonObject = {
        "file": os.path.basename(file),
        "digest": sha256(data).hexdigest(),
        "sizeBytes": len(data),
        "mediaHint": guess_type(file)[0],
    }
    if len(data) <= EVIDENCE_TEXT_BYTES_MAX:
        try:
            kept["text"] = data.decode("utf-8")
        except UnicodeDecodeError:
            kept["mediaHint"] = kept["mediaHint"] or "application/octet-stream"
    return kept


def result_of(file: str, schema_file: str | None = None) -> JsonValue:
    """Return the result in a JSON file, which must fit the schema in another if that is given.

    Raises EvidenceRefused, and ResultRefused with every problem.
    """
    limit = "OUTPUT_BYTES_MAX", OUTPUT_BYTES_MAX
    result = _json(file, "--result-file", *limit)
    if schema_file is not None:
        _require_fit(result, schema_file)
    return result


def read_bounded(file: str, option: str, limit_name: str, limit_bytes: int) -> bytes:
    """Return the bytes of a regular file. Raises EvidenceRefused."""
    from agentctl.cli.regular_files import read_regular

    try:
        return read_regular(
            file, limit_name, limit_bytes,
            help="keep the whole elsewhere, and give the part that shows what happened",
        )  # fmt: skip
    except SourceError as refused:
        raise EvidenceRefused(f"{option} {refused.message}", help=refused.help) from None


def _json(file: str, option: str, limit_name: str, limit_bytes: int) -> JsonValue:
    from agentctl.jsonvalue import parse_json

    data = read_bounded(file, option, limit_name, limit_bytes)
    try:
        return parse_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise EvidenceRefused(f"{option} {file} is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise EvidenceRefused(f"{option} {file} is not JSON: {error}") from None


def _require_fit(result: JsonValue, schema_file: str) -> None:
    from agentctl.engine.schema_check import check_schema, validate

    option = "--result-schema-file"
    schema = _json(schema_file, option, "EVIDENCE_BYTES_MAX", EVIDENCE_BYTES_MAX)
    broken = check_schema(schema)
    if broken:
        told = "; ".join(str(one) for one in broken)
        raise EvidenceRefused(f"{option} {schema_file} is no JSON Schema: {told}")
    problems = validate(result, schema)
    if problems:
        raise ResultRefused(f"the result does not fit {schema_file}: {'; '.join(problems)}")
