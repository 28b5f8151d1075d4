#!/bin/sh
# Builds raysum, makes the peer's environment if there is none, and runs the benchmark.
# Arguments go to fit_vs_gpytorch.py; without any it measures the energy set.
# PYTHON names an interpreter that has gpytorch already.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- --set energy
python=${PYTHON:-bench/.venv/bin/python}
case " $* " in
*" --memory "*) python=${PYTHON:-python3} ;; # needs the standard library only
*)
    if ! "$python" -c 'import gpytorch' >/dev/null 2>&1; then
        [ -z "${PYTHON:-}" ] || { echo "$PYTHON has no gpytorch" >&2; exit 2; }
        echo "making bench/.venv with GPyTorch (a large download, once)"
        bench/setup.sh
    fi
    ;;
esac
cargo build --release
exec "$python" bench/fit_vs_gpytorch.py "$@"
