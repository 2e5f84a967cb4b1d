"""The real command line, run as a user runs it."""
