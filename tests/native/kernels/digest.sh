#!/usr/bin/env bash
# digest.sh KERNELS_DIR BUILD_DIR: what the kernels compute has the same bits for each compiler that
# is there, at each optimization and level, and for aarch64 under qemu.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kernels=$1 build=$2
mkdir -p "$build"

expected=
failed=0
try() { # WHAT RUNNER... -- COMPILER FLAGS...
  local what=$1 runner=()
  shift
  while [[ $1 != -- ]]; do
    runner+=("$1")
    shift
  done
  shift
  local program="$build/digest-${what//[^[:alnum:]]/-}"
  "$@" -std=c++17 -I"$kernels" -I"$here" "$here/Digest.cpp" -o "$program"
  while read -r digest; do
    expected=${expected:-$digest}
    if [[ $digest != "$expected" ]]; then
      echo "$what: $digest, not $expected" >&2
      failed=1
    fi
  done < <("${runner[@]}" "$program")
  rm -f "$program"
}

for compiler in g++ clang++-19; do
  command -v "$compiler" >/dev/null || continue
  [[ $compiler == g++ ]] && try "$compiler -O0" -- "$compiler" -O0
  try "$compiler -O2" -- "$compiler" -O2
  try "$compiler -O3 -march=native" -- "$compiler" -O3 -march=native
done
if command -v aarch64-linux-gnu-g++ qemu-aarch64-static >/dev/null; then
  for level in -O0 -O3; do
    try "aarch64 $level" qemu-aarch64-static -- aarch64-linux-gnu-g++ -static "$level"
  done
fi
[[ $expected ]] || {
  echo "no compiler was found" >&2
  exit 1
}
echo "$expected"
exit "$failed"
