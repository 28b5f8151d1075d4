#!/bin/sh
# One step of the search on the paper's scaling task, raysum and GPyTorch taking turns.
# Arguments are numbers of rows; PYTHON names an interpreter that has gpytorch already.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 1000 4000 16000 64000 100000 1000000
python=${PYTHON:-bench/.venv/bin/python}
"$python" -c 'import gpytorch' 2>/dev/null || bench/setup.sh
cargo build --release --example scaling -p raysum
out=bench/results/$(date +%F)-scaling.jsonl
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
printf '{"kind": "run", "date": "%s", "commit": "%s", "cpu": "%s", "cores": %s}\n' \
    "$(date -u +%FT%TZ)" "$(git rev-parse --short HEAD)" "$cpu" "$(nproc)" >>"$out"
for n in "$@"; do
    target/release/examples/scaling weight "$n" 10 | tee -a "$out"
    [ "$n" -gt 4000 ] || target/release/examples/scaling dense "$n" 5 | tee -a "$out"
    # A step of the peer's takes longer than a minute beyond this.
    [ "$n" -gt 64000 ] || "$python" bench/gpytorch_scaling.py ski "$n" 3 | tee -a "$out"
    [ "$n" -gt 4000 ] || "$python" bench/gpytorch_scaling.py cholesky "$n" 3 | tee -a "$out"
    target/release/examples/scaling weight "$n" 10 | tee -a "$out"
done
echo "written to $out"
