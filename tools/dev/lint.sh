# shellcheck shell=bash
# Checks and formatters.

cpp_files() { source_files . | grep -zE '\.(h|c|cpp)$'; }

check_format() { cpp_files | xargs -0 clang-format-19 --dry-run -Werror; }

check_tidy() {
  configure dev
  ninja -C build/dev build.ninja # configures again if a CMakeLists.txt changed
  ninja -C build/dev -t targets all | sed -nE 's/^(.*\.h): CUSTOM_COMMAND$/\1/p' |
    xargs -r ninja -C build/dev # headers that tools write
  .venv/bin/python tools/dev/tidy.py build/dev "$JOBS"
}

check_shell() {
  shellcheck -xa dev .ci/run # with what they source from tools/dev
  shellcheck python/scripts/*
  source_files . | grep -zE '\.sh$' | grep -zv 'tools/dev/' | xargs -0r shellcheck -x
}

# A path of one machine in a file helps nobody else.
check_paths() {
  ! source_files . |
    xargs -0 grep -nIE '(^|[^[:alnum:]_.~-])/(root|home|work|workspace|Users)/'
}

cmd_lint() {
  need "${PKGS_BUILD[@]}" "${PKGS_LINT[@]}"
  need_venv
  need_onnxruntime_headers
  KEEP_GOING=true
  step "clang-format" check_format
  step "clang-tidy" check_tidy
  show "sources, "
  step "ruff check" .venv/bin/ruff check .
  step "ruff format" .venv/bin/ruff format --check .
  step "mypy" .venv/bin/mypy
  step "shellcheck" check_shell
  step "layers" .venv/bin/python tools/check_layers.py
  step "paths" check_paths
  if ((${#FAILED[@]})); then
    printf 'lint: failed: %s\n' "${FAILED[*]}"
    exit 1
  fi
}

format_cpp() { cpp_files | xargs -0 clang-format-19 -i; }

format_python() {
  .venv/bin/ruff check --fix --exit-zero .
  .venv/bin/ruff format .
}

cmd_format() {
  need clang-format-19
  need_venv
  step "clang-format" format_cpp
  step "ruff" format_python
}
