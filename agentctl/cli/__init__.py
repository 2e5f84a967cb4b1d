"""The command line: who asks.

Above: nothing; people and scripts call it. Below: everything else. It parses arguments, calls
the `Engine`, and renders what comes back as text for people or as one JSON envelope. It decides
nothing about workflows.

Start-up is a feature: `app` knows every command by name and imports only the invoked one, and a
command imports the engine, the store or rich inside its body.
"""

from __future__ import annotations

import gc

# Making classes and plans leaves much that lives on and hardly any garbage, so the collector
# would only look at it again and again.
gc.set_threshold(50_000, 20, 20)
