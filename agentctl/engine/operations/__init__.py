"""One file per operation on a run: start, resume, cancel, replay, approve, preview."""
