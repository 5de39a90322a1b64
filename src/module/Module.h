//===- Module.h - Shared libraries that add to this one ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULE_MODULE_H
#define CBRIDGE_MODULE_MODULE_H

#include "channel/Channel.h"
#include "os/Library.h"
#include "serdes/Serializer.h"

#include <cbridge/Registry.h>
#include <cbridge/module.h>

namespace cbridge {

/// A loaded module; see cbridge/module.h. Never unloaded or destroyed.
/// Thread-safe.
class Module {
public:
  /// Loads File, once. Fails with Unavailable if it is not there, and with
  /// Unsupported if it is no module or not one for us; never InvalidArgument.
  static Expected<const Module *> load(const std::string &File,
                                       os::Binding B = os::Binding::ToProgram);
  /// Loads `cbridge-NAME.so` from the first of os::libraryPlaces()
  /// that has it. Fails with
  /// InvalidArgument if none has, or if no module can have that name; then the
  /// message continues "there is no ...".
  static Expected<const Module *> find(std::string_view Name);
  /// All that have been loaded so far.
  static std::vector<const Module *> loaded();

  const std::string &file() const { return File; }
  const std::vector<Scheme> &runners() const { return Runners; }
  const std::vector<ChannelScheme> &channels() const { return Channels; }
  /// Compiled models; what they say of themselves has not been checked.
  const std::vector<const cbridge_native_model *> &models() const {
    return Models;
  }
  const Scheme *runner(std::string_view Name) const;
  const ChannelScheme *channel(std::string_view Name) const;
  bool hasSerializer(std::string_view Name) const;
  Expected<std::unique_ptr<Serializer>>
  makeSerializer(std::string_view Name) const;

private:
  struct Table;
  friend struct Table;
  explicit Module(std::string File) : File(std::move(File)) {}
  Status open(void *Handle);

  std::string File;
  std::vector<Scheme> Runners;
  std::vector<ChannelScheme> Channels;
  std::vector<const cbridge_native_model *> Models;
  struct Serializers;
  std::shared_ptr<Serializers> Codecs;
};

} // namespace cbridge

#endif // CBRIDGE_MODULE_MODULE_H
