"""The content-addressed store below the cache root: ingest, blobs, trees, refs, recovery."""
