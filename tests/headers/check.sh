#!/usr/bin/env bash
# Every public header compiles alone, twice in one file, with g++ and clang++, as C++17 and C++20,
# with and without exceptions and RTTI; c.h and module.h also as C. Headers include only each other and the
# standard headers of allowed.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

compile() { # HEADER COMPILER FLAGS...
  local header=$1
  shift
  printf '#include <cbridge/%s>\n#include <cbridge/%s>\n' "$header" "$header" |
    "$@" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Iinclude - || {
    echo "cbridge/$header: does not compile with: $*"
    return 1
  }
}
export -f compile

headers=()
while IFS= read -r header; do headers+=("${header#include/cbridge/}"); done \
  < <(find include/cbridge -name '*.h' | sort)
if ((${#headers[@]} == 0)); then
  echo "no header in include/cbridge"
  exit 1
fi

python3 tools/check_layers.py --public

for header in "${headers[@]}"; do
  for compiler in g++ clang++-19; do
    for standard in c++17 c++20; do
      echo "$header $compiler -xc++ -std=$standard"
      echo "$header $compiler -xc++ -std=$standard -fno-exceptions -fno-rtti"
    done
  done
  if [[ $header == c.h || $header == module.h ]]; then
    for standard in c99 c11; do
      echo "$header gcc -xc -std=$standard -Wstrict-prototypes"
      echo "$header clang-19 -xc -std=$standard -Wstrict-prototypes"
    done
  fi
done | xargs -P "$(nproc)" -I{} bash -c 'set -euo pipefail; compile {}'

echo "${#headers[@]} headers ok"
