"""Inputs and variables: from files, documents and the command line to the values of a run.

Above: the compiler and the CLI. Below: JSON values and JSON Schema. Never: file I/O; the bytes
of files come in through the `SourceReader` port.
"""
