#!/bin/sh
# Makes the virtual environment bench/.venv with the peer that the benchmark measures against.
set -eu
cd "$(dirname "$0")"
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --requirement requirements.txt
