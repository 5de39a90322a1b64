"""The C++ around generated models that makes a program of them: it reads calls, writes answers."""

from __future__ import annotations

from collections.abc import Sequence

from compiler_bridge.codegen import Description

# A call: index, level, extents, and the bytes of each input. An answer: the length of the error's
# text and the text, or 0, and then the extents and the bytes of each output.
_SHARED = r"""
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

namespace {
void get(void *To, size_t Size) {
  if (Size != 0 && std::fread(To, 1, Size, stdin) != Size)
    std::exit(3);
}
void put(const void *From, size_t Size) {
  if (Size != 0 && std::fwrite(From, 1, Size, stdout) != Size)
    std::exit(4);
}
void put(int64_t Value) { put(&Value, sizeof(Value)); }
int64_t getInteger() {
  int64_t Value = 0;
  get(&Value, sizeof(Value));
  return Value;
}
void answerError(const char *Text) {
  put(static_cast<int64_t>(std::strlen(Text)));
  put(Text, std::strlen(Text));
}
// What a model does not write is not what was left there by the call before.
template <class Outputs> void spoil(Outputs &O) {
  std::memset(static_cast<void *>(&O), 0xA5, sizeof(O));
}
template <class Model> const char *evaluated(Model &M) {
  using Inputs = typename Model::Inputs;
  auto Before = std::make_unique<Inputs>();
  std::memcpy(static_cast<void *>(Before.get()), &M.in, sizeof(Inputs));
  if (const char *Why = M.evaluate())
    return Why;
  if (!std::is_empty<Inputs>::value &&
      std::memcmp(static_cast<const void *>(Before.get()), &M.in, sizeof(Inputs)) != 0)
    return "the inputs were changed";
  return nullptr;
}
template <class Model> Model &instance(int64_t Level) {
  static std::unique_ptr<Model> Levels[2];
  auto &M = Levels[Level != 0];
  if (!M)
    M = std::make_unique<Model>(Level != 0 ? Model::Level::V3 : Model::Level::Baseline);
  return *M;
}
} // namespace
"""


def _answer(description: Description, index: int) -> str:
    """A function that answers one call of a model."""
    inputs = [f"  get(M.in.{p.identifier}, size_t(getInteger()));" for p in description.inputs]
    extents = [f"  M.extents.{s.identifier} = getInteger();" for s in description.symbols]
    outputs = []
    for port in description.outputs:
        sizes = [f"static_cast<int64_t>({extent})" for extent in port.shape]
        outputs += [f"  put({size});" for size in sizes]
        count = " * ".join(sizes) or "1"
        outputs.append(f"  put(M.out.{port.identifier}, size_t({count}) * sizeof({port.ctype}));")
    return "\n".join(
        [
            f"static void answer{index}(int64_t Level) {{",
            f"  auto &M = instance<{description.namespace}::{description.name}>(Level);",
            "  [[maybe_unused]] const auto &extents = M.extents;",
            *extents,
            *inputs,
            "  spoil(M.out);",
            "  if (const char *Why = evaluated(M))",
            "    return answerError(Why);",
            "  put(int64_t(0));",
            *outputs,
            "}",
            "",
        ]
    )


def glue_name(description: Description) -> str:
    """The file with what belongs to one model: compilers name it where that is wrong."""
    return f"{description.name}_glue.inc"


def glue(description: Description, index: int) -> str:
    return f'#include "{description.name}.h"\n{_answer(description, index)}'


def program(descriptions: Sequence[Description], indices: Sequence[int]) -> str:
    """The main file: it has the models' sources, so that what they share is compiled once."""
    lines = [_SHARED]
    for description, index in zip(descriptions, indices, strict=True):
        lines.append(f'#include "{description.name}.cpp"')
        lines.append(f'#include "{glue_name(description)}"')
        lines.append(f"// model {index}")
    lines += ["int main() {", "  int64_t Index = 0;"]
    lines.append("  while (std::fread(&Index, sizeof(Index), 1, stdin) == 1) {")
    lines += ["    const int64_t Level = getInteger();", "    switch (Index) {"]
    lines += [f"    case {i}: answer{i}(Level); break;" for i in indices]
    lines += ["    default: return 2;", "    }", "    std::fflush(stdout);", "  }", "}", ""]
    return "\n".join(lines)
