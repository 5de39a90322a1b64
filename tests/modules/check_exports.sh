#!/usr/bin/env bash
# Modules export cbridge_module_v1 and nothing else, and stay loaded: check_exports.sh FILE...
set -euo pipefail
for file; do
  exported=$(nm -D --defined-only "$file" | awk '{ print $NF }')
  if [[ $exported != cbridge_module_v1 ]]; then
    echo "$file exports: $exported"
    exit 1
  fi
  if ! readelf -d "$file" | grep -q NODELETE; then
    echo "$file could be unloaded"
    exit 1
  fi
done
