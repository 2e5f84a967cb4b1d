"""The lifecycles of agentctl: what can happen, and nothing about how.

Each lifecycle is declared once, with python-statemachine (`run.py`, `task.py`, ...). `generate`
compiles the declarations to plain tables (`compiled`) and typed names (`names`), which are checked
in. The rest of agentctl imports only those two, `sets` and `draw`, so it never pays for the
library. Above: every other package. Below: the base modules. Never: I/O, a clock, a record.
"""
