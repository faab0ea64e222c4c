"""What other programs say to the daemon: request and answer types, and a client over the unix socket."""
