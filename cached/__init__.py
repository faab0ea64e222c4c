"""cached: a node-local model cache. This package imports nothing, so that workers and the command line start fast."""

__version__ = "0.1.0"
