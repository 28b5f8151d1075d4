"""What the site has beyond the pages as they stand: the command line's own help, and links that work."""

import os
import pathlib
import re
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = "reference/command-line.md"


def on_files(files, config):
    files.append(File.generated(config, REFERENCE, content=command_line()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links to files outside of docs/ lead to the repository."""
    base = config["repo_url"].rstrip("/") + "/blob/main/"
    return re.sub(r"\]\(\.\./([^)]+)\)", lambda link: f"]({base}{link[1]})", markdown)


def command_line():
    """A section for each command, with what its --help prints."""
    program = os.environ.get("RAYSUM_BIN", ROOT / "target" / "debug" / "raysum")

    def shown(*words):
        command = [program, *words, "--help"]
        env = {**os.environ, "COLUMNS": "100"}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout

    overall = shown()
    commands = re.search(r"^Commands:\n((?:  .*\n)+)", overall, re.MULTILINE)[1]
    names = [line.split()[0] for line in commands.splitlines() if re.match(r"  \w", line)]
    parts = ["# Options of the command line", f"```text\n{overall.rstrip()}\n```"]
    for name in (name for name in names if name != "help"):
        parts += [f"## raysum {name}", f"```text\n{shown(name).rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"
