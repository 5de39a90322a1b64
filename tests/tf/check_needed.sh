#!/usr/bin/env bash
# Compiled models need nothing of TensorFlow's when they run: check_needed.sh FILE...
set -euo pipefail
for file; do
  needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  # They need something, or this looks in the wrong place.
  if [[ $needed != *libc.so* || $needed == *tensorflow* ]]; then
    echo "$file needs: ${needed//$'\n'/ }"
    exit 1
  fi
done
