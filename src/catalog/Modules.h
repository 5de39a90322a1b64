//===- Modules.h - What lives in modules ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CATALOG_MODULES_H
#define CBRIDGE_CATALOG_MODULES_H

#include "module/Module.h"

namespace cbridge {

/// The module that has the scheme or serializer called Name: one that has been
/// loaded, or else by the table and by its file's name. Fails as Module::find
/// does. Has tells whether a module has it.
Expected<const Module *> moduleWith(std::string_view Name,
                                    bool (*Has)(const Module &,
                                                std::string_view Name),
                                    const char *What);

/// `tf:FILE.so`: a module that cbridge_add_tf_model has made.
Scheme tfScheme();
/// `native:NAME`, a model of this program, and `native:FILE.so`, a module: what
/// `cbridge compile` has made.
Scheme nativeScheme();

} // namespace cbridge

#endif // CBRIDGE_CATALOG_MODULES_H
