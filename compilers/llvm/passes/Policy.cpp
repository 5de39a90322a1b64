//===- Policy.cpp - What tells that a policy is in the plugin -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Its name is what counts: cbridge-clang looks for it in the file, which it
/// does not load.
extern "C" {
__attribute__((visibility("default"),
               used)) extern const char cbridge_policy_InlineOz[] =
    "native:InlineOz";
}
