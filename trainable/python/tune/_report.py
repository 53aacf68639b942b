"""The page of `tune report` (docs/report.md), in a notebook's cell or in a file."""

from __future__ import annotations

import html
import os
import subprocess

from tune._binary import find_binary
from tune.results import TuneError

#: Of the frame in a cell, in pixels; the page in it scrolls.
_HEIGHT = 900


class Report:
    """What was searched, what came out, and what is worth knowing, with all pictures: one page that
    needs no server and no network.

    At the end of a notebook's cell it is shown there.
    """

    def __init__(self, experiment_path: str) -> None:
        """TuneError: the experiment cannot be read."""
        # A notebook asks while it is interrupted, which its whole process group hears.
        done = subprocess.run(
            [find_binary(), "report", experiment_path, "--html", "-"],
            capture_output=True,
            check=False,
            start_new_session=True,
        )
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise TuneError(said.removeprefix("tune: "))
        self._page = done.stdout
        self._path = experiment_path

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to the file `path`, also over another one."""
        with open(path, "wb") as file:
            file.write(self._page)

    def __repr__(self) -> str:
        return f"Report({self._path!r}): save('report.html') writes the page"

    def _repr_html_(self) -> str:
        # In an origin of its own: nothing in the page can reach the notebook.
        page = html.escape(self._page.decode(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="report of the search" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )
