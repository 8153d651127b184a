#!/usr/bin/env bash
# Builds EP, CG, IS, MG, FT, BT and SP of the original NAS Parallel Benchmarks for Open MPI.
# README.md says where they come from.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "usage: $0 NPB3.4-MPI OUT [CLASSES]   (CLASSES like SA; A if none are given)" >&2
  exit 2
fi
source=$1 out=$2 classes=${3:-A}
[ -d "$source/CG" ] && [ -d "$source/sys" ] ||
  { echo "$0: $source is not the folder NPB3.4-MPI of the distribution" >&2; exit 1; }
for tool in mpif90 mpicc make awk; do
  command -v "$tool" >/dev/null ||
    { echo "$0: no $tool; on Debian: apt-get install make gawk gfortran openmpi-bin libopenmpi-dev" >&2; exit 1; }
done

mkdir -p "$out/bin"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/." "$work"

# gfortran takes two things for errors since version 10 that the originals do: calls that
# pass several types to one argument, of which MPI is made, and constants X'...'.
flags='-O3 -march=native'
cat > "$work/config/make.def" <<END
MPIFC = mpif90
FLINK = mpif90
FFLAGS = $flags -w -fallow-argument-mismatch -fallow-invalid-boz
FLINKFLAGS = -O3
MPICC = mpicc
CLINK = mpicc
CFLAGS = $flags
CLINKFLAGS = -O3
CC = cc
BINDIR = ../bin
RAND = randi8
END
mkdir -p "$work/bin"
for class in $(echo "$classes" | sed 's/./& /g'); do
  for program in ep cg is mg ft bt sp; do
    make -s -C "$work" "$program" CLASS="$class"
  done
done
cp "$work"/bin/*.x "$out/bin/"
ls "$out/bin"
