#!/usr/bin/env bash
# Runs the reference code that build.sh has built and ours in turn, and prints the seconds
# that an iteration of the conjugate gradients took (median and quartiles) and ours over
# theirs. Nothing else may run meanwhile.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 4 ]; then
  echo "usage: $0 OUT [EDGE [RANKS [ROUNDS]]]   (48, 2, 5; EDGE³ points a rank)" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/../../.." && pwd)
edge=${2:-48} ranks=${3:-2} rounds=${4:-5}
source "$root/examples/internal/peer/alternate.bash"
[ -x "$1/bin/xhpcg" ] || { echo "$0: no $1/bin/xhpcg: build.sh makes it" >&2; exit 1; }
bin=$(cd "$1/bin" && pwd)
cd "$root"

ours=$(mktemp -d)
trap 'rm -rf "$ours"' EXIT
go build -o "$ours/intrarun" ./cmd/intrarun
go build -tags intra -o "$ours/hpcg" ./examples/hpcg

# The reference code writes what it has measured to a file in its folder; with --rt=0 it
# runs one set of 50 iterations.
theirs() (
  cd "$ours" && rm -f HPCG-Benchmark*.txt
  mpirun -n "$ranks" "$bin/xhpcg" --nx="$edge" --ny="$edge" --nz="$edge" --rt=0 >/dev/null
  awk -F= '
    /Optimized CG iteration count|Total number of optimized iterations/ { n = $2 }
    /^Benchmark Time Summary::Total/ { seconds = $2 }
    END { if (n > 0 && seconds > 0) print seconds / n; else exit 1 }' HPCG-Benchmark*.txt
)
ours() { "$ours/intrarun" -n "$ranks" -r 1 "$ours/hpcg" -nx "$edge" -ny "$edge" -nz "$edge" -sets 1 -json |
  grep '"valid":true' | awk '
    match($0, /"iterations":[0-9]+/) { n = substr($0, RSTART + 13, RLENGTH - 13) }
    match($0, /"seconds":[0-9.e-]+/) { seconds = substr($0, RSTART + 10, RLENGTH - 10) }
    END { if (n > 0 && seconds > 0) print seconds / n; else exit 1 }'; }

echo "$edge³ points on each of $ranks ranks, $rounds rounds, seconds per iteration"
alternate hpcg "$rounds" theirs ours
