"""Where a command's result goes: text for people, or JSON envelopes for programs.

Above: every command. Below: standard output and error. With `json` exactly one document is
written to standard output; with `jsonl` one per line; notes for people go to standard error and
only in human mode.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from agentctl.jsonvalue import JsonObject, JsonValue

Output = Literal["human", "json", "jsonl"]
Colour = Literal["auto", "always", "never"]
Durability = Literal["full", "normal"]

API_VERSION: Final = "agentctl.dev/cli/v1"
DEFAULT_DB: Final = ".agentctl/runtime.db"


class Console:
    """The output settings of one invocation, and the run it is about once that is known."""

    def __init__(self) -> None:
        self.output: Output = "human"
        self.colour: Colour = "auto"
        self.verbose = False
        self.db = DEFAULT_DB
        self.durability: Durability = "full"
        self.shared_filesystem = False
        self.run_id: str | None = None
        self.trace_id: str | None = None

    @property
    def is_human(self) -> bool:
        """Whether a person reads the output."""
        return self.output == "human"

    def uses_colour(self, stream: TextIO | None = None) -> bool:
        """Say whether text on a stream, by default standard output, may be coloured."""
        if self.colour == "auto":
            plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
            return (stream or sys.stdout).isatty() and not plain
        return self.colour == "always"

    def result(self, kind: str, data: JsonValue, human: Callable[[], str]) -> None:
        """Write a command's result: `data` in an envelope, or the text that `human` makes."""
        if self.is_human:
            self.text(human())
        else:
            self.document({"kind": kind, "data": data})

    def document(self, body: JsonObject) -> None:
        """Write one envelope: a line of its own in `jsonl`, indented in `json`."""
        indent = 2 if self.output == "json" else None
        whole = {"apiVersion": API_VERSION, **body}
        self.text(json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=indent))

    def text(self, text: str) -> None:
        """Write text to standard output, ending the line if the text does not."""
        _write(sys.stdout, text)

    def note(self, text: str) -> None:
        """Tell a person something beside the result; programs never see it."""
        if self.is_human:
            _write(sys.stderr, text)


def _write(stream: TextIO, text: str) -> None:
    if text and not text.endswith("\n"):
        text += "\n"
    # A lone surrogate (a file name that is not UTF-8) becomes the escape that JSON has for it.
    data = text.encode("utf-8", "backslashreplace")
    stream.flush()
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8"))
        return
    buffer.write(data)
    buffer.flush()
