#!/bin/sh
# One step of the search on the paper's scaling task, raysum and GPyTorch taking turns.
# Arguments are numbers of rows; PYTHON names an interpreter that has gpytorch already.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 1000 2000 4000 8000 16000 32000 64000 100000 1000000
python=${PYTHON:-bench/.venv/bin/python}
"$python" -c 'import gpytorch' 2>/dev/null || bench/setup.sh
cargo build --release --example scaling -p raysum
out=bench/results/$(date +%F)-scaling.jsonl
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
printf '{"kind": "run", "date": "%s", "commit": "%s", "cpu": "%s", "cores": %s}\n' \
    "$(date -u +%FT%TZ)" "$(git rev-parse --short HEAD)" "$cpu" "$(nproc)" >>"$out"
for n in "$@"; do
    # The paper's 120 iterations, but for sizes where they would take an hour.
    steps=120
    [ "$n" -le 100000 ] || steps=10
    target/release/examples/scaling weight "$n" "$steps" | tee -a "$out"
    [ "$n" -gt 100000 ] || target/release/examples/scaling ski "$n" "$steps" | tee -a "$out"
    # A step takes longer than half a minute beyond these.
    [ "$n" -gt 8000 ] || target/release/examples/scaling dense "$n" 5 | tee -a "$out"
    [ "$n" -gt 64000 ] || "$python" bench/gpytorch_scaling.py ski "$n" 3 | tee -a "$out"
    [ "$n" -gt 4000 ] || "$python" bench/gpytorch_scaling.py cholesky "$n" 3 | tee -a "$out"
    # Again, for a machine whose speed has changed meanwhile.
    [ "$n" -gt 16000 ] || target/release/examples/scaling ski "$n" "$steps" | tee -a "$out"
    target/release/examples/scaling weight "$n" "$steps" | tee -a "$out"
done
"$python" bench/plot_scaling.py "$out"
echo "written to $out"
