//===- ModelRunnerAdapterTest.cpp -----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/passes/ModelRunnerAdapter.h>

#include <llvm/IR/LLVMContext.h>

#include <gtest/gtest.h>

using namespace cbridge;
using namespace cbridge::passes;

namespace {

Signature twoFeatures() {
  return Signature(
      {fromLLVM(llvm::TensorSpec::createSpec<int64_t>("blocks", {1})),
       fromLLVM(llvm::TensorSpec::createSpec<float>("embedding", {2, 3}))},
      TensorSpec::create<int64_t>("advice"));
}

Model opened(const char *RunnerString) {
  Expected<Model> M = Model::open(RunnerString, twoFeatures());
  EXPECT_TRUE(M) << M.status().message();
  return *M;
}

TEST(ModelRunnerAdapterTest, HasTheSpecsOfLLVM) {
  TensorSpec Spec =
      fromLLVM(llvm::TensorSpec::createSpec<float>("embedding", {2, 3}, 5));
  EXPECT_EQ(Spec, TensorSpec::create<float>("embedding", {2, 3}));
  EXPECT_EQ(fromLLVM(llvm::TensorSpec::createSpec<int8_t>("a", {1})).type(),
            ElementType::Int8);
  EXPECT_EQ(fromLLVM(llvm::TensorSpec::createSpec<uint64_t>("a", {1})).type(),
            ElementType::UInt64);
  EXPECT_EQ(fromLLVM(llvm::TensorSpec::createSpec<double>("a", {1})).type(),
            ElementType::Double);
}

TEST(ModelRunnerAdapterTest, LendsTheMemoryOfTheRunner) {
  llvm::LLVMContext Context;
  ModelRunnerAdapter<int64_t> Adapter(Context, opened("constant:5"),
                                      [] { return 0; });
  llvm::MLModelRunner &AsLLVM = Adapter;
  *AsLLVM.getTensor<int64_t>(0) = 12;
  AsLLVM.getTensor<float>(1)[5] = 0.5f;
  EXPECT_EQ(Adapter.runner().getTensor<int64_t>(0)[0], 12);
  EXPECT_EQ(Adapter.runner().getTensor<float>(1)[5], 0.5f);
  EXPECT_EQ(AsLLVM.evaluate<int64_t>(), 5);
  EXPECT_TRUE(Adapter.lastError().ok());
}

TEST(ModelRunnerAdapterTest, AsksTheHeuristicWhereTheModelDoesNotDecide) {
  llvm::LLVMContext Context;
  int64_t Asked = 0;
  ModelRunnerAdapter<int64_t> Adapter(
      Context, opened("onnx:/nowhere/policy.onnx"), [&] { return ++Asked; });
  llvm::MLModelRunner &AsLLVM = Adapter;
  AsLLVM.switchContext("a.c");
  *AsLLVM.getTensor<int64_t>(0) = 12;
  EXPECT_EQ(AsLLVM.evaluate<int64_t>(), 1);
  EXPECT_EQ(AsLLVM.evaluate<int64_t>(), 2);
  EXPECT_FALSE(Adapter.lastError().ok());
}

} // namespace
