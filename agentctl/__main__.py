"""`python -m agentctl`: the same as the `agentctl` program."""

from __future__ import annotations

from agentctl.cli.main import main

if __name__ == "__main__":
    main()
