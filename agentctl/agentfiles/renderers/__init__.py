"""One renderer per format: from an agent to a text.

Above: `rendering`. Below: the palette and quoting.
"""
