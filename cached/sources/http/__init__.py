"""https:// and http:// as a source: one URL is one file."""
