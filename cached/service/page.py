"""The status page: one self-contained HTML document, no script, no asset from elsewhere. Pure.

It is served to whoever reaches the port, so it shows no secrets (`redact`), and everything in it is
escaped: names and messages come from object stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from cached import human
from cached.api.types import ModelView, Status
from cached.service import redact
from cached.types import State

REFRESH = 5
"""Seconds between two loads."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

_ORDER = {State.FAILED: 0, State.DOWNLOADING: 1, State.QUEUED: 2, State.READY: 3, State.EVICTED: 4}
_STYLE = """
:root{color-scheme:light dark}
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
h1{font-size:1.3rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.35rem .7rem .35rem 0;border-bottom:1px solid #8884;vertical-align:top}
td small{display:block;opacity:.75;overflow-wrap:anywhere}progress{width:9rem}
.Failed{color:#c22}.Ready{color:#283}.n{text-align:right;white-space:nowrap}
"""


def page(status: Status, models: Sequence[ModelView]) -> str:
    """The page of a daemon that serves."""
    ordered = sorted(models, key=lambda model: (_ORDER[model.state], model.name))
    return _document("".join([*_summary(status), *_table(ordered)]))


def waiting_page(why: str) -> str:
    """The page of a daemon that does not serve yet, or no more."""
    return _document(f"<p>Not ready: {escape(why)}.</p>")


def _document(body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="{REFRESH}">'
        f'<meta name="viewport" content="width=device-width"><title>cached</title><style>{_STYLE}</style></head>'
        f"<body><h1>cached</h1>{body}</body></html>"
    )


def _summary(status: Status) -> Iterable[str]:
    used = status.disk_total - status.disk_free
    yield (
        f"<p>Version {escape(status.version)}, up {human.span(status.uptime)}, root {escape(status.root)}.<br>"
        f"Disk {_bar(used, status.disk_total)} {human.size(status.disk_free)} free of {human.size(status.disk_total)}; "
        f"{status.blobs} blobs hold {human.size(status.bytes_blobs)}, {human.size(status.bytes_partial)} are set aside "
        f"for downloads, {human.size(status.fetched_total)} fetched since the start.</p>"
    )


def _table(models: Sequence[ModelView]) -> Iterable[str]:
    if not models:
        yield "<p>No models yet: <code>cachectl prefetch s3://bucket/path</code> asks for one.</p>"
        return
    yield "<table><thead><tr><th>Model<th>State<th>Progress<th class=n>Size<th>Verified</tr></thead><tbody>"
    yield from map(_row, models)
    yield "</tbody></table>"


def _row(model: ModelView) -> str:
    why = f"<small>{_safe(model.reason or '')} {_safe(model.message)}</small>" if model.message else ""
    return (
        f"<tr><td>{_safe(model.name)}<small>{_safe(model.uri)}</small>"
        f"<td class={model.state}>{model.state}{why}"
        f"<td>{_bar(model.bytes_done, model.bytes_total)} {_share(model)}"
        f"<td class=n>{human.size(model.bytes_total)}<td>{model.verified or ''}</tr>"
    )


def _share(model: ModelView) -> str:
    if not model.files_total:
        return ""
    files = human.count(model.files_total, "file")
    return f"{human.percent(model.bytes_done, model.bytes_total)}, {model.files_done} of {files}"


def _bar(value: int, whole: int) -> str:
    return f'<progress value="{value}" max="{max(whole, 1)}"></progress>'


def _safe(text: str) -> str:
    return escape(redact.text(human.printable(text)))
