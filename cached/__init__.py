"""cached: a node-local model cache. This package imports nothing, so that workers and the command line start fast."""
