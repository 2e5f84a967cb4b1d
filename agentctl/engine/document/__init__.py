"""The workflow document: its model, its reader and its JSON Schema."""
