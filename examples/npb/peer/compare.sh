#!/usr/bin/env bash
# Runs the originals that build.sh has built and ours in turn, and prints for each
# program the seconds that it says it took (median and quartiles) and ours over theirs.
# Nothing else may run meanwhile.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 5 ]; then
  echo "usage: $0 OUT [CLASS [RANKS [ROUNDS [PROGRAMS]]]]   (A, 2, 5, \"ep cg is mg ft bt sp\")" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/../../.." && pwd)
class=${2:-A} ranks=${3:-2} rounds=${4:-5} programs=${5:-ep cg is mg ft bt sp}
source "$root/examples/internal/peer/alternate.bash"
for p in $programs; do
  [ -x "$1/bin/$p.$class.x" ] || { echo "$0: no $1/bin/$p.$class.x: build.sh makes it" >&2; exit 1; }
done
out=$(cd "$1" && pwd)
cd "$root"

ours=$(mktemp -d)
trap 'rm -rf "$ours"' EXIT
go build -o "$ours/intrarun" ./cmd/intrarun
for p in $programs; do
  go build -tags intra -o "$ours/$p" "./examples/npb/$p"
done

theirs() { mpirun -n "$ranks" "$out/bin/$1.$class.x" | awk '
  / Time in seconds *=/ { seconds = $NF }
  / Verification *= *SUCCESSFUL/ { good = 1 }
  END { if (good && seconds > 0) print seconds; else exit 1 }'; }
ours() { "$ours/intrarun" -n "$ranks" -r 1 "$ours/$1" -class "$class" -json |
  grep '"verified":true' | sed 's/.*"seconds":\([0-9.e-]*\).*/\1/'; }

echo "class $class on $ranks ranks, $rounds rounds"
for p in $programs; do
  alternate "$p" "$rounds" "theirs $p" "ours $p"
done
