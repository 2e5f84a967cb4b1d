"""The tools of the control plane: what each is, who sees it, how each provider is told.

Above: the commands and, later, the engine. Below: JSON values. Everything here is pure: frozen
data and functions over it. Nothing here carries a tool out.
"""
