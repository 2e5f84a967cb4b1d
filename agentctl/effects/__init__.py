"""Executors: what touches the outside world on behalf of an effect that is on the ledger."""
