"""The engine: documents, compilation, plans, decisions and the runs themselves.

Pure but for `runner`, which awaits. It reaches the outside through `ports` alone.
"""
