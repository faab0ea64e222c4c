"""The daemon as others see it: HTTP on the unix socket, metrics and health on the port."""
