# shellcheck shell=bash
# What a command needs: Debian packages, the virtual environment, configured builds.

PKGS_BUILD=(g++ cmake ninja-build ccache)
PKGS_EXAMPLES=(libflatbuffers-dev flatbuffers-compiler)
PKGS_GRPC=(libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler)
PKGS_LLVM=(llvm-19-dev libclang-19-dev)
PKGS_PLUGIN_TESTS=(clang-19 lld-19 llvm-19 llvm-19-tools csmith libcsmith-dev make python3)
PKGS_TESTS=(libgtest-dev openssl "${PKGS_EXAMPLES[@]}" "${PKGS_GRPC[@]}")
TFLITE_VERSION=2.21.0-1.5.14
PKGS_CLANG=(clang-19 libclang-rt-19-dev llvm-19)
PKGS_CODEGEN=(clang-19 g++-aarch64-linux-gnu qemu-user-static) # what generated code is tried with
PKGS_CORPUS=(clang-19 lld-19 llvm-19 dpkg-dev make) # what corpora are made with
# What the packages of `bench inline` are generated, built and tested with.
PKGS_VALIDATION=(autoconf automake autopoint gettext libtool pkg-config cmake perl python3 python3-six unicode-data)
PKGS_SCORING=(clang-19 llvm-19 valgrind)
PKGS_LINT=(clang-format-19 clang-tidy-19 shellcheck "${PKGS_LLVM[@]}" "${PKGS_TESTS[@]}" "${PKGS_PLUGIN_TESTS[@]}")

apt_install() {
  local sudo=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "neither root nor sudo; install these packages yourself: $*"
      return 1
    fi
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# Installs the Debian packages that are missing. On other systems they are assumed to be there.
need() { # PACKAGE...
  local package missing=()
  if ! command -v dpkg-query >/dev/null; then return; fi
  for package in "$@"; do
    # shellcheck disable=SC2016
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed* ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]})); then step "apt ${missing[*]}" apt_install "${missing[@]}"; fi
}

python_works() { # PYTHON: new enough, and able to make environments and build modules
  "$1" - 2>/dev/null <<'END'
import ensurepip, os, sys, sysconfig, venv
sys.exit(sys.version_info < (3, 11)
         or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
END
}

make_venv() { # PYTHON
  rm -rf .venv
  "$1" -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check \
    "$(grep '^uv==' python/requirements-dev.txt)"
  .venv/bin/uv pip install --python .venv/bin/python -r python/requirements-dev.txt
}

need_venv() {
  local python=python3 key
  # A moved checkout needs a new environment: its scripts hold absolute paths.
  key="$PWD $(sha256sum <python/requirements-dev.txt)"
  if [[ -x .venv/bin/python && -f .venv/stamp && $(<.venv/stamp) == "$key" ]]; then return; fi
  if ! python_works "$python"; then
    need python3 python3-venv python3-dev
    python=/usr/bin/python3
  fi
  need ca-certificates
  step "venv" make_venv "$python"
  printf '%s\n' "$key" >.venv/stamp
  rm -f "$STAMP_DIR/python-package" "$STAMP_DIR/frameworks"
}

install_frameworks() {
  .venv/bin/uv pip install --python .venv/bin/python -r python/requirements-frameworks.txt
}

# Large, and only for tests and benchmarks.
need_frameworks() {
  need_venv
  step_once "frameworks" "$(<.venv/stamp) $(sha256sum <python/requirements-frameworks.txt)" \
    install_frameworks
}

# Debian 12 has no ONNX Runtime; the headers of the next release do. Only they are taken: with lists
# of its own, apt changes nothing on the system.
fetch_onnxruntime_headers() {
  local apt=$PWD/build/deps/apt file options
  rm -rf "$apt" "$ONNXRUNTIME_ROOT"
  mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    if [[ -f $file ]] && grep -qE '(^|[[:space:]])bookworm([[:space:]]|$)' "$file"; then
      # Its updates and security fixes are of no use here.
      sed -E 's/bookworm-[a-z/]+//g; s/(^|[[:space:]])bookworm([[:space:]]|$)/\1trixie\2/' "$file" |
        awk -v RS= -v ORS='\n\n' '/trixie/ || !/Suites:/' >"$apt/sources/${file##*/}"
    fi
  done
  options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources"
    -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$apt" && apt-get "${options[@]}" download libonnxruntime-dev)
  dpkg-deb -x "$apt"/libonnxruntime-dev_*.deb "$ONNXRUNTIME_ROOT"
  [[ -f $ONNXRUNTIME_ROOT/usr/include/onnxruntime/onnxruntime_c_api.h ]]
  rm -rf "$apt"
}

# The libraries that engines load at run time.
need_engines() {
  local onnxruntime
  need_venv
  onnxruntime=$(echo .venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*)
  export CBRIDGE_ONNXRUNTIME=${CBRIDGE_ONNXRUNTIME:-$PWD/$onnxruntime}
  need_tflite
}

need_onnxruntime_headers() {
  if [[ ! -f $ONNXRUNTIME_ROOT/usr/include/onnxruntime/onnxruntime_c_api.h ]]; then
    step "ONNX Runtime's headers" fetch_onnxruntime_headers
  fi
}

# TFLite's C API: no package of Debian or Python has its library, one of Java's has. It is used without
# Java, and fetched without it.
fetch_tflite() {
  local dir=$PWD/build/deps/tflite bundle=/etc/ssl/certs/ca-certificates.crt
  rm -rf "$dir"
  mkdir -p "$dir"
  # The system's certificates, rather than those of a Python package.
  if [[ -z ${REQUESTS_CA_BUNDLE:-} && -f $bundle ]]; then export REQUESTS_CA_BUNDLE=$bundle; fi
  .venv/bin/maven-artifact "org.bytedeco:tensorflow-lite:jar:linux-x86_64:$TFLITE_VERSION" \
    "$dir/tflite.jar"
  .venv/bin/python -m zipfile -e "$dir/tflite.jar" "$dir/unpacked"
  find "$dir/unpacked" -name libjnitensorflowlite.so -exec mv {} "$dir" ';'
  rm -rf "$dir/unpacked" "$dir/tflite.jar"
  [[ -f $dir/libjnitensorflowlite.so ]]
}

# For whatever opens tflite:.
need_tflite() {
  if [[ -n ${CBRIDGE_TFLITE:-} ]]; then return; fi
  CBRIDGE_TFLITE=$PWD/build/deps/tflite/libjnitensorflowlite.so
  if [[ ! -f $CBRIDGE_TFLITE ]]; then
    need_venv
    step "TFLite's library" fetch_tflite
  fi
  export CBRIDGE_TFLITE
}

install_package() {
  .venv/bin/python -m pip install --disable-pip-version-check --no-build-isolation --no-deps .
}

need_package() {
  need "${PKGS_BUILD[@]}" "${PKGS_LLVM[@]}" "${PKGS_GRPC[@]}"
  need_venv # with onnx, for the policy
  need_onnxruntime_headers
  step_once "python package" \
    "$(hash_of CMakeLists.txt cmake compilers include models proto src tools/cbridge tools/cbridge-clang tools/shared python/CMakeLists.txt python/scripts python/src pyproject.toml README.md)" \
    install_package
}

configure() { # PRESET
  local dir=build/$1
  if [[ -f $dir/CMakeCache.txt ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$dir/CMakeCache.txt"; then
    rm -rf "$dir" # the checkout was moved
  fi
  if [[ -f $dir/build.ninja && $dir/configured -nt CMakePresets.json ]]; then return; fi
  cmake --preset "$1"
  touch "$dir/configured"
}

configure_and_build() { # PRESET [TARGET...]
  local preset=$1
  shift
  configure "$preset"
  cmake --build --preset "$preset" -j "$JOBS" ${1:+--target "$@"}
}

need_preset() { # PRESET
  case $1 in
    dev)
      need "${PKGS_BUILD[@]}" "${PKGS_LLVM[@]}" "${PKGS_TESTS[@]}" "${PKGS_PLUGIN_TESTS[@]}"
      need_frameworks # with onnx, and with TensorFlow, which compiles a model for the tests
      ;;
    release)
      need "${PKGS_BUILD[@]}" "${PKGS_LLVM[@]}" "${PKGS_GRPC[@]}"
      need_venv # with onnx, which cbridge_add_model needs: for the policy, too
      ;;
    asan | tsan)
      need "${PKGS_BUILD[@]}" "${PKGS_CLANG[@]}" "${PKGS_TESTS[@]}" "${PKGS_PLUGIN_TESTS[@]}"
      need_venv
      ;;
    fuzz) need "${PKGS_BUILD[@]}" "${PKGS_CLANG[@]}" "${PKGS_EXAMPLES[@]}" "${PKGS_GRPC[@]}" ;;
    *) die "unknown preset '$1'; there are dev, release, asan, tsan, fuzz" ;;
  esac
}

build_preset() { # PRESET [TARGET...]
  need_preset "$1"
  need_onnxruntime_headers
  step "build $1" configure_and_build "$@"
}
