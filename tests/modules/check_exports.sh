#!/usr/bin/env bash
# Modules export cbridge_module_v1 and nothing else, and stay loaded: check_exports.sh FILE...
# With -s SYMBOL it is that one.
set -euo pipefail
symbol=cbridge_module_v1
if [[ ${1-} == -s ]]; then
  symbol=$2
  shift 2
fi
for file; do
  exported=$(nm -D --defined-only "$file" | awk '{ print $NF }')
  if [[ $exported != "$symbol" ]]; then
    echo "$file exports: $exported"
    exit 1
  fi
  if ! readelf -d "$file" | grep -q NODELETE; then
    echo "$file could be unloaded"
    exit 1
  fi
done
