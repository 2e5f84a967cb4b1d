"""From a document to a sealed plan, one stage in each file.

Above: the CLI and the embedded door. Below: the document model, templates, values, packs. Never:
I/O. The way in is `pipeline.compile_workflow`, or `pack.compile_pack` for a manifest alone; the
order of the stages is in `pipeline`. Nothing is imported here, so that a workflow without packs
does not pay for them.
"""
