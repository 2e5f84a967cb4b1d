"""Taking a finished run's work over into a new run: what is proved reusable, and what runs again.

Above: the operations that make derived runs. Below: plans, records and scopes. Pure.
Source: specification, section 9.
"""
