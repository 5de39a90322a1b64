# shellcheck shell=bash
# Runs the fuzz targets, two at a time. New inputs go to build/fuzz/corpus, never to the sources.

fuzz_one() { # NAME SECONDS
  local name=$1 new=build/fuzz/corpus/$1 seeds=tests/fuzz/corpus/$1 log=$LOG_DIR/fuzz-$1.log
  local inputs=("$new")
  mkdir -p "$new" build/fuzz/crash
  if [[ -d $seeds ]]; then inputs+=("$seeds"); fi
  if timeout $(($2 + 120)) "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$2" -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="build/fuzz/crash/$name-" "${inputs[@]}" >"$log" 2>&1; then
    echo "$name: $(tail -n 1 "$log")"
  else
    grep -E -m1 -A20 'ERROR:|runtime error:' "$log" || tail -n 20 "$log"
    grep -E 'Test unit written to' "$log" || true
    echo "$name: FAILED, log: $log"
    return 1
  fi
}

fuzz_all() { # SECONDS
  local target names=()
  for target in build/fuzz/tests/fuzz/fuzz_*; do
    if [[ -f $target && -x $target ]]; then names+=("${target##*/fuzz_}"); fi
  done
  if ((${#names[@]} == 0)); then
    echo "no fuzz target in build/fuzz/tests/fuzz"
    return 1
  fi
  export LOG_DIR
  export -f fuzz_one
  # shellcheck disable=SC2016
  printf '%s\0' "${names[@]}" |
    PATH=$PATH:$LLVM_BIN xargs -0 -P2 -I{} bash -c 'set -euo pipefail; fuzz_one "$@"' _ {} "$1"
}

# Random ONNX models: generated code against ONNX Runtime.
fuzz_models() { # OPTION...
  PYTHONPATH=python/tests .venv/bin/python -m codegen.fuzz "$@"
}
