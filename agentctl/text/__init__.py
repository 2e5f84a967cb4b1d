"""Text as a tree of nodes that know where they stand: YAML 1.2, JSON, and the rules for both.

Above: documents and agent files. Below: PyYAML's event parser and the limits.
"""
