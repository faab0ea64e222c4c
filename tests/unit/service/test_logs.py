"""Logs as a collector reads them, from a process of their own: the configuration is global."""

from __future__ import annotations

import json
import subprocess
import sys

SETUP = """
import logging, structlog
from cached.service import logs
logs.configure()
log = structlog.get_logger("cached.x")
"""


def lines(program: str) -> list[dict[str, str]]:
    ended = subprocess.run([sys.executable, "-c", SETUP + program], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ended.stderr.splitlines()]


def test_an_event_is_one_json_line_with_its_fields() -> None:
    (line,) = lines("log.info('model_ready', name='m', bytes=3)")
    del line["timestamp"]
    assert line == {"event": "model_ready", "level": "info", "logger": "cached.x", "name": "m", "bytes": 3}


def test_a_trace_is_text_in_one_line_and_shows_no_local_variables() -> None:
    program = "token = 'hunter2'\ntry: 1 / 0\nexcept ZeroDivisionError: log.exception('request_failed')"
    (line,) = lines(program)
    assert "ZeroDivisionError" in line["exception"]
    assert "hunter2" not in json.dumps(line)


def test_no_secret_passes_in_a_field_a_message_or_a_trace() -> None:
    program = """
log.info('x', uri='https://h/p?sig=hunter2', headers={'Authorization': 'hunter2'})
logging.getLogger('botocore').warning('GET https://h/p?sig=%s', 'hunter2')
try: raise ValueError('https://u:hunter2@h/p?sig=hunter2')
except ValueError: log.exception('y')
"""
    found = lines(program)
    assert (len(found), "hunter2" in json.dumps(found)) == (3, False)


def test_libraries_speak_from_warning_on() -> None:
    program = "logging.getLogger('botocore').info('quiet'); logging.getLogger('botocore').warning('loud')"
    assert [line["event"] for line in lines(program)] == ["loud"]


def test_a_warning_of_python_is_a_line_too() -> None:
    (line,) = lines("import warnings; warnings.warn('odd', stacklevel=1)")
    assert (line["level"], line["logger"]) == ("warning", "py.warnings")
