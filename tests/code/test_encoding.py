"""Text files are read and written as UTF-8, whatever the machine's locale says."""

from __future__ import annotations

import ast

from tests.code.tree import WRITTEN, trees

METHODS = {"read_text", "write_text", "open", "fdopen"}


def names_encoding(call: ast.Call) -> bool:
    """Return whether a call opens a file as text without saying in which encoding."""
    if any(one.arg == "encoding" for one in call.keywords):
        return True
    texts = [one.value for one in call.args if isinstance(one, ast.Constant)]
    texts += [one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)]
    return any(isinstance(text, str) and "b" in text and len(text) <= 3 for text in texts)


def opens_text(call: ast.Call) -> bool:
    """Return whether a call opens a file, as far as its name says."""
    called = call.func
    if isinstance(called, ast.Name):
        return called.id == "open"
    if not isinstance(called, ast.Attribute) or called.attr not in METHODS:
        return False
    # `os.open` gives a descriptor, and an engine, a store or a session opens other things.
    owner = ast.unparse(called.value)
    return called.attr != "open" or owner == "io" or owner.lower().endswith(("path", "file"))


def test_text_is_opened_with_an_explicit_encoding() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees(*WRITTEN).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and opens_text(node) and not names_encoding(node)
    ]
    assert not found
