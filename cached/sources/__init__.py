"""Where models come from. Each source resolves a URI to a pinned listing and signs ranged requests."""
