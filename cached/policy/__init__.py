"""Decisions: pure functions from a snapshot to a plan. They import neither os nor asyncio, and carry nothing out."""
