"""Compile a pack's manifest by itself, for `check` and `plan`.

Above: the CLI. Below: the same stages that workflows go through. The workflows of a pack are
checked as sub-workflows of an otherwise empty one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
