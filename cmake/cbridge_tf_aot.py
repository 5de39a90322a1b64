"""Compiles a saved model ahead of time and describes it in C++; for cbridge_add_tf_model.

    cbridge_tf_aot.py SAVED_MODEL TAG_SET SIGNATURE CLASS PREFIX

Writes PREFIX.h, PREFIX.o, PREFIX_constants.o and PREFIX_metadata.o, as TensorFlow's
`saved_model_cli aot_compile_cpu` does, and PREFIX.cpp, which makes a module of them.
"""

import contextlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

TYPES = {
    "bool": "BOOL",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tensors(who, side, infos):
    """The list of cbridge::tf::Tensor of one side of a signature."""
    from tensorflow.python.framework import dtypes, tensor_shape

    lines = []
    for name in sorted(infos):
        kind = dtypes.as_dtype(infos[name].dtype).name
        shape = tensor_shape.TensorShape(infos[name].tensor_shape)
        if kind not in TYPES:
            sys.exit(
                f"{who}: {side} '{name}' has elements of type {kind}, which passes do not have"
            )
        if side == "input" and not shape.is_fully_defined():
            sys.exit(
                f"{who}: input '{name}' has shape {shape}; tf: needs fixed ones, tflite: does not"
            )
        if not shape.is_fully_defined():
            sys.exit(f"{who}: output '{name}' has shape {shape}, which is not fixed")
        extents = ", ".join(str(extent) for extent in shape.as_list())
        lines.append(f"    {{{quoted(name)}, CBRIDGE_{TYPES[kind]}, {{{extents}}}}},\n")
    return "".join(lines)


def describe(who, signature, class_name, prefix):
    header = os.path.basename(prefix) + ".h"
    inputs = tensors(who, "input", signature.inputs)
    outputs = tensors(who, "output", signature.outputs)
    text = (
        f"// Made by cbridge_add_tf_model.\n"
        f'#include "{header}"\n\n#include <cbridge/TfModule.h>\n\n'
        f"static std::vector<cbridge::tf::Tensor> inputs() {{\n  return {{\n{inputs}  }};\n}}\n\n"
        f"static std::vector<cbridge::tf::Tensor> outputs() {{\n  return {{\n{outputs}  }};\n}}\n\n"
        f"CBRIDGE_EXPORT_TF_MODEL({class_name}, inputs, outputs)\n"
    )
    with open(prefix + ".cpp", "w") as file:
        file.write(text)


@contextlib.contextmanager
def quietly(log):
    """Sends what others say, which is much, to a log that is shown if they fail."""
    sys.stdout.flush()
    sys.stderr.flush()
    shown = [os.dup(1), os.dup(2)]
    with open(log, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    failed = True
    try:
        yield
        failed = False
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, kept in enumerate(shown, 1):
            os.dup2(kept, number)
            os.close(kept)
        if failed:
            with open(log, "rb") as file:
                os.write(2, file.read())


def compile_model(saved_model, tag_set, key, class_name, prefix):
    from absl import flags
    from tensorflow.python.tools import (
        saved_model_aot_compile,
        saved_model_cli,  # noqa: F401 (it has the flags)
        saved_model_utils,
    )

    graph = saved_model_utils.get_meta_graph_def(saved_model, tag_set)
    if key not in graph.signature_def:
        known = ", ".join(sorted(graph.signature_def))
        sys.exit(f"{saved_model}: there is no signature '{key}'; there are {known}")
    describe(f"{saved_model}, signature '{key}'", graph.signature_def[key], class_name, prefix)
    with quietly(prefix + ".log"):
        saved_model_aot_compile.aot_compile_cpu_meta_graph_def(
            checkpoint_path=os.path.join(saved_model, "variables", "variables"),
            meta_graph_def=graph,
            signature_def_key=key,
            output_prefix=prefix,
            cpp_class=class_name,
            target_triple=flags.FLAGS["target_triple"].default,
            target_cpu=flags.FLAGS["target_cpu"].default,
        )


if __name__ == "__main__":
    compile_model(*sys.argv[1:])
