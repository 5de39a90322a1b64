#!/usr/bin/env bash
# Uses an installed CompilerBridge as others do: run.sh BUILD_DIR
# From a prefix that was moved after the install: CMake projects, a pkg-config compile, a module.
# From a clean environment outside the tree: pip install and import.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
python=$(command -v "${PYTHON:-python3}")
[[ $python == /* ]] || python=$PWD/$python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved

say() { printf '== %s\n' "$*"; }

say "install to a prefix, then move it"
cmake --install "$build" --prefix "$work/prefix"
mv "$work/prefix" "$prefix"
# As whole paths: a checkout may be in /src.
if grep -rIP "(?<![\w.-])(\Q$root\E|\Q$work/prefix\E)(?![\w.-])" "$prefix"; then
  echo "installed files name the source tree or the first prefix"
  exit 1
fi

say "the tool"
"$prefix/bin/cbridge" --version

say "the compilers"
try_compilers() { # FOLDER
  if ! command -v clang-19 >/dev/null; then
    echo "without clang-19"
    return
  fi
  "$1/cbridge-clang" --cbridge-version
  printf '#include <string>\nint main(int n, char **v) { return int(std::string(v[0], n).size()) - 1; }\n' >"$work/main.cpp"
  "$1/cbridge-clang++" --cbridge-evict=constant:32 -O2 "$work/main.cpp" -o "$work/main"
  "$work/main"
}
try_compilers "$prefix/bin"

say "find_package"
cmake -S "$root/tests/install/consumer" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/cmake"
"$work/cmake/consumer"

say "cbridge new-pass, in clang"
if find "$prefix" -name CompilerBridgePasses.so | grep -q .; then
  (cd "$work" && "$prefix/bin/cbridge" new-pass Shrink)
  cmake -S "$work/Shrink" -B "$work/Shrink/build" -G Ninja -DCompilerBridge_DIR="$("$prefix/bin/cbridge" cmake-path)"
  cmake --build "$work/Shrink/build"
  shrunk() { # MODEL: how many kinds of functions are optimised for size
    SHRINK_MODEL=$1 clang-19 -O2 -fpass-plugin="$work/Shrink/build/Shrink.so" -S -emit-llvm \
      "$work/Shrink/example.c" -o - | grep -c '^attributes.* optsize' || true
  }
  [[ $(shrunk "") == 0 && $(shrunk constant:1) == 1 ]]
else
  echo "built without LLVM"
fi

say "cbridge_add_proto, and a server that knows nothing of us"
if module_dir=$(dirname "$(find "$prefix" -name cbridge-grpc.so | grep .)"); then
  cmake -S "$root/examples/own-proto" -B "$work/own-proto" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
  cmake --build "$work/own-proto"
  CBRIDGE_MODULE_PATH=$module_dir PYTHONPATH=$work/own-proto/own_proto_compiler_proto \
    "$work/own-proto/own_proto_compiler" \
    "grpc:?on_error=fail&timeout=60s&spawn=$python $root/examples/own-proto/server.py {}" | tee "$work/said"
  [[ $(grep -c 'says the model' "$work/said") == 3 ]]
  grep -q ' 45 instructions: inline, says the model' "$work/said"
else
  echo "built without gRPC"
fi

say "cbridge_add_tf_model"
if "$python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("tensorflow"))'; then
  # The tests may have made one.
  saved=$(realpath -m "${SAVED_MODEL:-}")
  if [[ ! -f $saved/saved_model.pb ]]; then
    saved=$work/saved
    "$python" "$root/tests/tf/make_model.py" "$saved" "$work/expected" "$work"
  fi
  cmake -S "$root/tests/install/tf" -B "$work/tf" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCBRIDGE_TF_PYTHON="$python" -DSAVED_MODEL="$saved"
  cmake --build "$work/tf"
  if cmake -S "$root/tests/install/tf" -B "$work/tf-none" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCBRIDGE_TF_PYTHON="$python" -DSAVED_MODEL="$work/none" 2>"$work/said"; then
    echo "a saved model that is not there is accepted"
    exit 1
  fi
  tr -s ' \n' ' ' <"$work/said" | grep -q "/none is no saved model: it has no saved_model.pb"
  "$root/tests/tf/check_needed.sh" "$work/tf/inliner.so"
  "$work/tf/tf_consumer" "tf:$work/tf/inliner.so?on_error=fail"
else
  echo "without TensorFlow"
fi

say "cbridge_add_model"
if "$python" -c 'import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ["onnx", "compiler_bridge.codegen"])))'; then
  cmake -S "$root/tests/install/native" -B "$work/native" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Release -DCBRIDGE_PYTHON="$python" -DMODELS="$root/tests/golden/onnx"
  cmake --build "$work/native"
  "$work/native/native_consumer" "$work/native/affine_module.so"
  if cmake -S "$root/tests/install/native" -B "$work/native-none" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCBRIDGE_PYTHON="$python" -DMODELS="$work/none" 2>"$work/said"; then
    echo "a model that is not there is accepted"
    exit 1
  fi
  tr -s ' \n' ' ' <"$work/said" | grep -q "there is no $work/none/affine.onnx"
  if cmake -S "$root/tests/install/native" -B "$work/native-none" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCBRIDGE_PYTHON=/bin/false -DMODELS="$root/tests/golden/onnx" 2>"$work/said"; then
    echo "a Python without onnx is accepted"
    exit 1
  fi
  tr -s ' \n' ' ' <"$work/said" | grep -q "pip install '.\[onnx\]'"
else
  echo "without onnx, or without the package"
fi

say "pkg-config"
pc_dir=$(dirname "$(find "$prefix" -name compiler-bridge.pc)")
read -ra flags <<<"$(PKG_CONFIG_PATH=$pc_dir pkg-config --cflags --libs --static compiler-bridge)"
echo "flags: ${flags[*]}"
g++ -std=c++17 "$root/tests/install/consumer/main.cpp" "${flags[@]}" -o "$work/consumer"
"$work/consumer"

say "a module in C"
gcc -std=c99 -pedantic -Werror -shared -fPIC -fvisibility=hidden "$root/tests/modules/sum.c" \
  "-I$prefix/include" -o "$work/cbridge-sum.so"

say "pip install"
"$python" -m venv "$work/venv"
# A build folder of its own: the incremental one of the tree keeps its configuration.
"$work/venv/bin/python" -m pip install --disable-pip-version-check \
  --config-settings=build-dir="$work/wheel" "$root"
cd "$work"
"$work/venv/bin/python" -c 'import compiler_bridge; print(compiler_bridge.__file__)'
"$work/venv/bin/cbridge" log --help
try_compilers "$work/venv/bin"
if find "$prefix" -name cbridge-onnx-ops.so | grep .; then
  "$work/venv/bin/python" -c 'from compiler_bridge import export; print(export.custom_ops_library())'
fi
