"""Programs as effects: shell execution, extension programs, and the containers around them.

Above: the registry of executors. Below: `keeper.py`, a program of its own that owns one process
tree and outlives nothing. Source: specification, section 6.
"""
