"""Downloads a URI as KServe's storage initializer does. Runs in `.venv-bench`; settings come by environment.

usage: kserve_download.py URI FOLDER
"""

from __future__ import annotations

import sys

from kserve_storage import Storage  # type: ignore[import-not-found,unused-ignore]

if __name__ == "__main__":
    Storage.download(sys.argv[1], sys.argv[2])
