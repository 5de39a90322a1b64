//===- Adapters.h - A module's C types as our classes -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULE_ADAPTERS_H
#define CBRIDGE_MODULE_ADAPTERS_H

#include "channel/Channel.h"
#include "module/CAbi.h"
#include "serdes/Serializer.h"

#include <cbridge/Registry.h>

#include <deque>

// What host functions get back; see cbridge/module.h.

struct cbridge_address {
  const cbridge::RunnerString &Of;
  std::deque<std::string> Values; // of options that were asked for
};

struct cbridge_message {
  cbridge::Message &To;
  size_t Room = 0;
  const char *Mistake = nullptr;
};

struct cbridge_decoded {
  cbridge::DecodedTensors &To;
  cbridge::Bytes Payload;
  cbridge::Span<const cbridge::Bytes> Lent;
  size_t Backing = 0;
  bool HasBacking = false;
};

struct cbridge_files {
  cbridge::os::FileSet &To;
};

namespace cbridge::c {

/// The functions that modules get.
const cbridge_host &host();

/// What is wrong with a tensor that a module reports.
Status checkTensor(const TensorSpec &Spec, Span<const int64_t> Extents,
                   Bytes Data);

/// Each fails if the type lacks what it must have. Who is the module's name,
/// for messages.
Expected<Scheme> runnerScheme(const cbridge_runner_type *Of,
                              const std::string &Who);
Expected<ChannelScheme> channelScheme(const cbridge_channel_type *Of,
                                      const std::string &Who);
/// A serializer type that has been checked.
struct SerializerType {
  std::string Name, Who;
  cbridge_serializer_type C;
};
Expected<SerializerType> serializerType(const cbridge_serializer_type *Of,
                                        const std::string &Who);
Expected<std::unique_ptr<Serializer>> makeSerializer(const SerializerType &Of);

/// A list that ends with null, or is null.
std::vector<std::string_view> keyList(const char *const *Keys);
/// "cbridge-x.so: 'grpc' has no run".
Status lacks(const std::string &Who, const char *Type, const char *Function);

} // namespace cbridge::c

#endif // CBRIDGE_MODULE_ADAPTERS_H
