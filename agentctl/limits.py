"""Every bound of agentctl with its name; units end the names.

Reaching a limit is an error that says the limit. Sources: the document contract (sections 1 to
3 of the specification) unless a comment gives another reason.
"""

from __future__ import annotations

from typing import Final

DOCUMENT_BYTES_MAX: Final = 1 << 20
# Deeper trees only ever come from hostile files; Python's own recursion limit is near 1,000.
DOCUMENT_DEPTH_MAX: Final = 100
# An alias may not multiply the document: total nodes after expansion.
DOCUMENT_NODES_MAX: Final = 200_000
# A long text counts as several nodes, or an alias could multiply a small file's characters.
DOCUMENT_NODE_CHARACTERS: Final = 64
# Every problem and every source of a value is named by its path.
DOCUMENT_PATH_CHARACTERS_MAX: Final = 4096
VARS_FILE_BYTES_MAX: Final = 1 << 20
VARS_FILES_MAX: Final = 256
VARS_FILES_TOTAL_BYTES_MAX: Final = 16 << 20

EXPANSION_ITEMS_MAX: Final = 256
LOOP_ITERATIONS_MAX: Final = 64
CONCURRENCY_MAX: Final = 64
SUBWORKFLOW_DEPTH_MAX: Final = 16
TASKS_MAX: Final = 20_000
TEMPLATE_TEXT_BYTES_MAX: Final = 1 << 20
RETRY_ATTEMPTS_MAX: Final = 20
RETRY_BACKOFF_MS_MAX: Final = 60_000
# Thirty days: a question that is older than that is better asked again.
APPROVAL_EXPIRES_SECONDS_MAX: Final = 30 * 86_400

TOOL_FILE_BYTES_MAX: Final = 1 << 20
FILE_BYTES_MAX: Final = 16 << 20
OUTPUT_BYTES_MAX: Final = 16 << 20
# What a program may print where its action declares no bound of its own.
PROCESS_STREAM_BYTES: Final = 1 << 20
PROCESS_COMBINED_BYTES: Final = 2 << 20
PROCESS_ARGUMENTS_MAX: Final = 1024
# One artifact is read whole into memory, like the file that it is made of.
ARTIFACT_BYTES_MAX: Final = 16 << 20

# A credential or a certificate; the same bound as for a program that prints one.
SECRET_BYTES_MAX: Final = 64 << 10

STREAM_EVENT_BYTES_MAX: Final = 4 << 10
STREAM_EVENTS_PER_ATTEMPT_MAX: Final = 256

# What an operator gives with a finding is kept in the journal for good.
EVIDENCE_BYTES_MAX: Final = 1 << 20
EVIDENCE_TEXT_BYTES_MAX: Final = 16 << 10
DECISIONS_MAX: Final = 1000
PROBE_ANSWER_BYTES_MAX: Final = 1 << 20

# A JSON answer of a provider, and a whole stream (section 12).
PROVIDER_JSON_BYTES_MAX: Final = 4 << 20
PROVIDER_STREAM_BYTES_MAX: Final = 8 << 20
# One event of a stream may hold the whole answer again.
PROVIDER_EVENT_BYTES_MAX: Final = 4 << 20
# Schemas and arguments of tools are a few levels deep.
PROVIDER_JSON_DEPTH_MAX: Final = 100
PROVIDER_TOOL_CALLS_MAX: Final = 256
CONNECT_SECONDS_DEFAULT: Final = 10
# The deadline of the effect is the real bound; this one is for a line that died.
READ_IDLE_SECONDS_MAX: Final = 600
# No reason to believe a provider that names a longer time.
RETRY_AFTER_SECONDS_MAX: Final = 30 * 86_400
