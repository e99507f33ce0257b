"""`python -m warpwise lab`: lays copies of the labs and opens JupyterLab on the start page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from warpwise import workspace
from warpwise.setup import start_page

# Settings of JupyterLab for this environment only; a learner's own settings win over them.
OVERRIDES = {
    "@jupyterlab/docmanager-extension:plugin": {
        "defaultViewers": {"markdown": "Markdown Preview"},  # the start page is for reading
    },
    "@jupyterlab/apputils-extension:notification": {
        "checkForUpdates": False,  # the version is pinned
        "fetchNews": "false",  # no question about news before the first lesson
    },
}


def write_overrides(prefix: Path = Path(sys.prefix)) -> None:
    """Writes the settings into the environment; a read-only environment does without them."""
    path = prefix / "share/jupyter/lab/settings/overrides.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(OVERRIDES, indent=1), encoding="utf-8")
    except OSError:
        return


def write_start_page(root: Path, news: Sequence[str]) -> Path:
    """Writes mine/START.md and returns its path.  Raises WorkspaceError when it cannot."""
    import warpwise
    from warpwise import curriculum

    page = root / "mine" / start_page.NAME
    units = curriculum.load(root).written
    if not units:
        raise workspace.WorkspaceError("The curriculum has no written unit yet.")
    text = start_page.build_page(page, units, warpwise.backend(), news)
    try:
        workspace.write_file(page, text.encode())
    except OSError as error:
        raise workspace.WorkspaceError(f"{page} could not be written: {error.strerror}.") from error
    return page


def jupyter_command(root: Path, page: Path, arguments: Sequence[str]) -> list[str]:
    """The command that opens JupyterLab on a page.  arguments: the user's own, which win."""
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{quote(page.relative_to(root).as_posix())}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container everyone is root; Jupyter asks for a word
    return [*command, *arguments]


def jupyter_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables for JupyterLab: `python` in its terminals is this environment's."""
    folder = str(Path(sys.executable).parent)
    return {
        **environment,
        "PATH": os.pathsep.join([folder, environment.get("PATH", "")]),
        "VIRTUAL_ENV": sys.prefix,
    }


def prepare(root: Path = workspace.ROOT) -> tuple[Path, list[str]]:
    """Lays the copies, the start page and the settings.  Returns the page and what to tell."""
    news = workspace.lay(root).lines()
    page = write_start_page(root, news)
    write_overrides()
    return page, news


def main(arguments: Sequence[str]) -> int:
    """Command line.  Returns the exit status.

    arguments: for JupyterLab; or only --prepare-only, which stops before it is opened.
    """
    root = workspace.ROOT
    try:
        page, news = prepare(root)
    except workspace.WorkspaceError as error:
        print(error, file=sys.stderr)
        return 1
    for sentence in news:
        print(sentence)
    if "--prepare-only" in arguments:
        return 0
    print("Opening JupyterLab.  Press Ctrl+C twice in this window to stop it.", flush=True)
    command, environment = jupyter_command(root, page, arguments), jupyter_environment()
    if os.name == "nt":  # there is no exec on Windows
        return subprocess.run(command, env=environment, check=False).returncode
    os.execve(command[0], command, environment)
