"""From a document to a sealed plan: `compile_workflow`, one stage in each file.

Above: the CLI and the embedded door. Below: the document model, templates, values, packs. Never:
I/O. The order of the stages is in `pipeline`.
"""

from __future__ import annotations

from agentctl.engine.compiler.pack import PackFile, PackResult, compile_pack
from agentctl.engine.compiler.pipeline import compile_workflow
from agentctl.engine.compiler.source import CompileResult, CompileSource, KnownAction

__all__ = [
    "CompileResult",
    "CompileSource",
    "KnownAction",
    "PackFile",
    "PackResult",
    "compile_pack",
    "compile_workflow",
]
