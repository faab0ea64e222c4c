"""The use cases: the only place where sources, transfer and store meet."""
