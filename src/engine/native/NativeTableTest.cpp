//===- NativeTableTest.cpp - Tables that promise too much -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/native/NativeTable.h"
#include "engine/native/Native.h"
#include "engine/native/NativeTest.h"

#include <gtest/gtest.h>

using namespace cbridge;
using native::NativeTable;

namespace {

/// The table of Rows, to be changed.
struct Changed {
  cbridge_native_model Table = cbridge_model_cbridge_models_Rows;
  std::vector<cbridge_native_port> Inputs{Table.inputs,
                                          Table.inputs + Table.input_count};
  std::vector<cbridge_native_port> Outputs{Table.outputs,
                                           Table.outputs + Table.output_count};
  std::vector<cbridge_native_symbol> Symbols{
      Table.symbols, Table.symbols + Table.symbol_count};

  Changed() {
    Table.inputs = Inputs.data();
    Table.outputs = Outputs.data();
    Table.symbols = Symbols.data();
  }
  Changed(const Changed &) = delete;
  Changed &operator=(const Changed &) = delete;
  void expectRefused() const {
    Expected<NativeTable> Read = NativeTable::read(&Table, "it");
    EXPECT_EQ(Read.status().code(), StatusCode::Unsupported);
    EXPECT_SAYS(Read.status(), "it: ");
    EXPECT_FALSE(describeNative(&Table, "it"));
  }
};

#define EXPECT_REFUSED(Change)                                                 \
  do {                                                                         \
    SCOPED_TRACE(#Change);                                                     \
    Changed T;                                                                 \
    T.Change;                                                                  \
    T.expectRefused();                                                         \
  } while (false)

TEST(NativeTableTest, Good) {
  Changed T;
  EXPECT_TRUE(NativeTable::read(&T.Table, "it"));
  // Of a newer version, which has more.
  T.Table.size += 64;
  EXPECT_TRUE(NativeTable::read(&T.Table, "it"));
}

TEST(NativeTableTest, OfTheModel) {
  EXPECT_FALSE(NativeTable::read(nullptr, "it"));
  EXPECT_REFUSED(Table.size = 0);
  EXPECT_REFUSED(Table.size -= 1);
  EXPECT_REFUSED(Table.name = nullptr);
  EXPECT_REFUSED(Table.levels = nullptr);
  EXPECT_REFUSED(Table.best_level = nullptr);
  EXPECT_REFUSED(Table.best_level = [] { return -1; });
  EXPECT_REFUSED(Table.best_level = [] { return 2; });
  EXPECT_REFUSED(Table.construct = nullptr);
  EXPECT_REFUSED(Table.destroy = nullptr);
  EXPECT_REFUSED(Table.use_weights = nullptr);
  EXPECT_REFUSED(Table.evaluate = nullptr);
  EXPECT_REFUSED(Table.instance_size = 0);
  EXPECT_REFUSED(Table.instance_size = ~size_t(0));
  EXPECT_REFUSED(Table.instance_alignment = 0);
  EXPECT_REFUSED(Table.instance_alignment = 48);
  EXPECT_REFUSED(Table.instance_alignment = size_t(1) << 40);
  EXPECT_REFUSED(Table.weights_size = ~uint64_t(0));
}

TEST(NativeTableTest, OfTensors) {
  EXPECT_REFUSED(Table.inputs = nullptr);
  EXPECT_REFUSED(Table.input_count = ~size_t(0));
  EXPECT_REFUSED(Table.output_count = 0);
  EXPECT_REFUSED(Inputs[0].spec.name.data = nullptr);
  EXPECT_REFUSED(Inputs[0].spec.name.size = 0);
  EXPECT_REFUSED(Inputs[0].spec.name.size = ~size_t(0));
  EXPECT_REFUSED(Inputs[0].spec.name = T.Inputs[1].spec.name);
  EXPECT_REFUSED(Inputs[0].spec.type = CBRIDGE_STRING);
  EXPECT_REFUSED(Inputs[0].spec.type = -1);
  EXPECT_REFUSED(Inputs[0].spec.rank = 9);
  EXPECT_REFUSED(Inputs[0].spec.shape = nullptr);
  EXPECT_REFUSED(Inputs[0].data = nullptr);
  EXPECT_REFUSED(Inputs[0].symbols = nullptr);
  EXPECT_REFUSED(Inputs[0].capacity = 383);
  EXPECT_REFUSED(Outputs[0].capacity = 2);
  EXPECT_REFUSED(Outputs[0].data = nullptr);
  EXPECT_REFUSED(Outputs[1].extents = nullptr);
  static const int64_t Negative[] = {-2, 3};
  EXPECT_REFUSED(Outputs[1].spec.shape = Negative);
  static const int32_t Unknown[] = {1, -1}, Fixed[] = {0, 0};
  EXPECT_REFUSED(Inputs[0].symbols = Unknown);
  EXPECT_REFUSED(Inputs[0].symbols = Fixed);
}

TEST(NativeTableTest, OfSymbols) {
  EXPECT_REFUSED(Table.symbols = nullptr);
  EXPECT_REFUSED(Table.symbol_count = 0);
  EXPECT_REFUSED(Table.symbol_count = ~size_t(0));
  EXPECT_REFUSED(Symbols[0].name = nullptr);
  EXPECT_REFUSED(Symbols[0].set = nullptr);
  EXPECT_REFUSED(Symbols[0].maximum = -1);
  EXPECT_REFUSED(Symbols[0].maximum = 129);
  EXPECT_REFUSED(Symbols[0].maximum = INT64_MAX);
}

TEST(NativeTableTest, ExtentsThatItMakesUp) {
  Changed T;
  T.Outputs[1].extents = [](const void *, int64_t *To) {
    To[0] = int64_t(1) << 61;
    To[1] = 3;
  };
  Signature Pass = NativeTable::read(&T.Table, "it")->signature();
  Expected<EngineSource> Opened =
      openNative(&T.Table, "it", *RunnerString::parse("native:it"), Pass);
  ASSERT_TRUE(Opened) << Opened.status().toString();
  Expected<std::unique_ptr<Engine>> E = (*Opened)();
  ASSERT_TRUE(E) << E.status().toString();
  Status S = (*E)->run({});
  EXPECT_EQ(S.code(), StatusCode::ShapeMismatch);
  EXPECT_SAYS(S, "it: output 'twice'");
}

TEST(NativeTableTest, TensorsWithoutMemory) {
  auto Expect = [](const Changed &T, const std::string &Says) {
    Signature Pass = NativeTable::read(&T.Table, "it")->signature();
    Expected<EngineSource> Opened =
        openNative(&T.Table, "it", *RunnerString::parse("native:it"), Pass);
    ASSERT_TRUE(Opened) << Opened.status().toString();
    Status S = (*Opened)().status();
    EXPECT_EQ(S.code(), StatusCode::Unsupported);
    EXPECT_SAYS(S, "it: model Rows: " + Says + " has no memory");
  };
  auto Nowhere = [](void *) -> void * { return nullptr; };
  Changed Input, FixedOutput, VaryingOutput;
  Input.Inputs[1].data = Nowhere;
  Expect(Input, "input 'factor'");
  FixedOutput.Outputs[0].data = Nowhere;
  Expect(FixedOutput, "output 'sum'");
  VaryingOutput.Outputs[1].data = Nowhere;
  Expect(VaryingOutput, "output 'twice'");
}

} // namespace
