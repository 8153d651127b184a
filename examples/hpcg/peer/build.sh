#!/usr/bin/env bash
# Builds the reference code of HPCG for Open MPI. README.md says where it comes from.
set -euo pipefail

if [ $# -ne 2 ]; then
  echo "usage: $0 HPCG OUT" >&2
  exit 2
fi
source=$1 out=$2
[ -f "$source/src/ComputeSYMGS_ref.cpp" ] ||
  { echo "$0: $source is not the folder of HPCG" >&2; exit 1; }
for tool in mpicxx make; do
  command -v "$tool" >/dev/null ||
    { echo "$0: no $tool; on Debian: apt-get install make g++ openmpi-bin libopenmpi-dev" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/." "$work"
# One rank a core, as ours has; the flags of the original's own setups, for this machine.
cat > "$work/setup/Make.peer" <<'END'
CXX = mpicxx
CXXFLAGS = -DHPCG_NO_OPENMP -I./src -O3 -march=native -ffast-math -ftree-vectorize
LINKER = mpicxx
LINKFLAGS = $(CXXFLAGS)
END
make -s -C "$work" arch=peer bin/xhpcg
mkdir -p "$out/bin"
cp "$work/bin/xhpcg" "$out/bin/"
ls "$out/bin"
