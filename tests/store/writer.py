"""A process that stores one run and leaves.

python writer.py DATABASE RUN
"""

from __future__ import annotations

import sys

from agentctl.store import open_store
from tests.store.harness import new_run, started


def main() -> None:
    """Store the run, give it back, and close the file as its last user would."""
    path, run_id = sys.argv[1:]
    store = open_store(path)
    started(store, new_run(run_id))[0].release()
    store.close()


if __name__ == "__main__":
    main()
