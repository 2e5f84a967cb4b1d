"""Talking with the person at the terminal: questions go to standard error, answers come back.

Above: the dialogues of `reconcile`, of `--interactive` and of others that ask.
Standard output stays the result's.
"""

from __future__ import annotations

import sys


class Left(Exception):
    """The person left; everything answered so far is stored."""


def say(text: str) -> None:
    """Show a line."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def ask(question: str) -> str:
    """Return the answer, stripped. Raises Left at the end of the input."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise Left
    return line.strip()


def require(question: str) -> str:
    """Ask until something is answered. Raises Left at the end of the input."""
    answer = ""
    while not answer:
        answer = ask(question)
    return answer
