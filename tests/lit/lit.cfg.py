"""Tests of the plugin in stock LLVM tools; the configured lit.site.cfg.py loads this."""

# ruff: noqa: F821 (lit defines `config`)

import os
import sys

import lit.formats

config.name = "CompilerBridge"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["Inputs"]
config.test_source_root = config.source_dir
config.test_exec_root = config.binary_dir

# Nothing that whoever runs the tests has set may choose a model.
config.environment = {
    name: value
    for name, value in os.environ.items()
    if name in ("PATH", "HOME", "CBRIDGE_ONNXRUNTIME", "CBRIDGE_TFLITE")
}
config.environment["PATH"] = config.llvm_bin + os.pathsep + config.environment["PATH"]
config.environment["CBRIDGE_MODULE_PATH"] = os.pathsep.join(
    [config.tools, os.path.dirname(config.plugin)]
)
# Remarks and identical objects must not depend on where the build is.
config.environment["LC_ALL"] = "C"

if config.with_grpc:
    config.available_features.add("grpc")
if config.with_tf:
    config.available_features.add("tf")
if config.with_policy:
    config.available_features.add("policy")

model = "env CBRIDGE_INLINE_MODEL="
config.substitutions += [
    ("%clangxx", f"clang++-{config.llvm_version}"),
    ("%clang", f"clang-{config.llvm_version}"),
    ("%cbridge", config.cbridge),
    ("%driver", config.driver),
    ("%models", config.models),
    ("%opt", f"opt-{config.llvm_version}"),
    ("%lld", f"{config.llvm_bin}/ld.lld"),
    ("%plugin", config.plugin),
    ("%golden", config.golden),
    ("%tf-model", config.tf_model),
    ("%peer", f"{config.tools}/lit-peer"),
    ("%llvm-advisor", config.llvm_advisor),
    ("%llvm-log", f"{config.tools}/llvm-log"),
    ("%programs", config.programs),
    ("%python", sys.executable),
    ("%model=", model),
]
