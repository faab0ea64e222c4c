"""Structured logs on stderr: JSON lines for collectors, readable lines on a terminal.

One event per state change, in stable snake_case, values as fields. What libraries say through the standard
logging module takes the same way from WARNING on. Every line passes `cached.service.redact`.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from cached.service import redact

OURS = "cached"


def configure(stream: TextIO | None = None) -> None:
    """Send all logs to `stream` (stderr). Called once, by the program and by nobody else."""
    stream = stream or sys.stderr
    common = _common()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _hide, _renderer(stream)],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    logging.getLogger(OURS).setLevel(logging.INFO)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *common,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,  # loggers at module level may have been used before
    )


def _common() -> list[Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,  # text alone: a rich trace shows local variables, secrets among them
    ]


def _hide(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The processor that keeps secrets out."""
    hidden: EventDict = redact.fields(event)
    return hidden


def _renderer(stream: TextIO) -> Processor:
    if stream.isatty():
        return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    return structlog.processors.JSONRenderer(default=str)
