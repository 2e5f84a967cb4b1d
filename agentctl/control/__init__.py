"""The control plane: what the operations of the catalog do to the entities that it keeps.

Above: the door, which gives its executor to runs, and the commands. Below: the catalog, the
machines and the entity port. Nothing here knows SQL, a provider or a run's journal.
"""
