# shellcheck shell=bash
# Steps: commands that print one line with their time and write their output to build/log.

LOG_DIR=build/log
STAMP_DIR=build/stamp
KEEP_GOING=false # true: a failed step is noted in FAILED and the next one runs
FAILED=()
STEP_LOG=        # the log of the last step

seconds_since() { # START (an EPOCHREALTIME) -> seconds with one decimal
  awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'
}

file_name() { # LABEL -> a name for its files; that of many packages is longer than files may have
  local name=${1//[^A-Za-z0-9_.-]/-}
  printf '%s' "${name:0:100}"
}

# step LABEL COMMAND...  Never call it in a condition: bash would switch off -e inside COMMAND.
step() {
  local label=$1 start=$EPOCHREALTIME status
  shift
  mkdir -p "$LOG_DIR"
  STEP_LOG=$LOG_DIR/$(file_name "$label").log
  if [[ -t 1 ]]; then printf '[   ... ] %s' "$label"; fi
  set +e
  (
    set -e
    "$@"
  ) >"$STEP_LOG" 2>&1 </dev/null
  status=$?
  set -e
  if [[ -t 1 ]]; then printf '\r\e[K'; fi
  printf '[%6ss] %s' "$(seconds_since "$start")" "$label"
  if ((status == 0)); then
    printf '\n'
    return
  fi
  printf ': FAILED (exit %d)\n' "$status"
  tail -n 40 "$STEP_LOG" | sed 's/^/  | /'
  printf 'full log: %s\n' "$STEP_LOG"
  if ! $KEEP_GOING; then exit 1; fi
  FAILED+=("$label")
}

# Shows the lines of the last step's log that match.
show() { # REGEX
  grep -E -- "$1" "$STEP_LOG" | sed 's/^/           /' || true
}

# step_once LABEL KEY COMMAND...  Skips COMMAND if it last succeeded with the same KEY.
step_once() {
  local label=$1 key=$2 failures=${#FAILED[@]} stamp
  shift 2
  stamp=$STAMP_DIR/$(file_name "$label")
  if [[ -f $stamp && $(<"$stamp") == "$key" ]]; then
    printf '[%6ss] %s (unchanged)\n' 0.0 "$label"
    return
  fi
  rm -f "$stamp"
  step "$label" "$@"
  if ((${#FAILED[@]} > failures)); then return; fi
  mkdir -p "$STAMP_DIR"
  printf '%s\n' "$key" >"$stamp"
}

# The files of the repository below the given places, NUL-terminated; works without git too.
source_files() { # PATH...
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    # ls-files also names tracked files that were deleted.
    git ls-files -zco --exclude-standard -- "$@" |
      while IFS= read -r -d '' file; do
        if [[ -f $file ]]; then printf '%s\0' "$file"; fi
      done
  else
    find "$@" \( -path ./build -o -path ./.venv -o -path ./.git -o -name __pycache__ \
      -o -name '.*_cache' \) -prune -o -type f -print0
  fi | sort -z
}

hash_of() { # PATH... -> a digest of the names and contents of the files below
  source_files "$@" | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}
