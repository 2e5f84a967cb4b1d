"""The front-matter scanner of the capability map.

Above: its readers. Below: nothing.
"""

from __future__ import annotations


def parse_yaml_front_matter(text: str) -> tuple[str | None, str]:
    """Return the block between the two `---` lines, and the body behind it.

    Without a block, or with one that does not end, the first is None and the second the whole
    text; an empty block is an empty text. A byte order mark before the block hides it.

    The library also tracks block scalars, so that a `---` inside one does not end the block.
    Only a `---` in column 0 ends it anyway, and no text of a block scalar stands there, so the
    tracking never shows and is left out.
    """
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return None, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "".join(lines[1:number]), "".join(lines[number + 1 :])
    return None, text
