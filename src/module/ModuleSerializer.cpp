//===- ModuleSerializer.cpp - A serializer of a module --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Adapters.h"

namespace cbridge::c {

namespace {

class ModuleSerializer : public Serializer {
public:
  ModuleSerializer(const SerializerType &Of, void *Handle)
      : Of(Of), Handle(Handle) {}
  ~ModuleSerializer() override { Of.C.destroy(Handle); }

  Status encode(Span<const TensorView> Tensors, Message &To) override {
    To.clear();
    Specs.clear();
    for (const TensorView &V : Tensors)
      Specs.push_back(spec(*V.Spec));
    fill(Given, Tensors);
    cbridge_message Out{To};
    Error.message[0] = 0;
    Status S = status(Of.C.encode(Handle, Specs.data(), Given.data(),
                                  Given.size(), &Out, &Error),
                      Error, Of.Who);
    if (S.ok() && Out.Mistake)
      return Status::error(StatusCode::Protocol,
                           Of.Who + ": '" + Of.Name + "' has " + Out.Mistake);
    return S;
  }

  Status decode(Bytes Payload, DecodedTensors &To) override {
    return decodeLent(Payload, {}, To);
  }
  bool decodesLent() const override { return Of.C.decodes_lent != 0; }

  Status decodeLent(Bytes Payload, Span<const Bytes> Lent,
                    DecodedTensors &To) override {
    fill(Specs, *To.Specs);
    Pieces.clear();
    for (Bytes Piece : Lent)
      Pieces.push_back(bytes(Piece));
    // So that a tensor which is not set shows.
    To.Views.assign(To.Specs->size(), TensorView());
    cbridge_decoded Out{To, Payload, Lent};
    Error.message[0] = 0;
    Status S =
        status(Of.C.decode(Handle, bytes(Payload), Pieces.data(), Pieces.size(),
                           Specs.data(), Specs.size(), &Out, &Error),
               Error, Of.Who);
    for (size_t I = 0; S.ok() && I < To.Views.size(); ++I)
      if (!To.Views[I].Spec)
        S = Status::error(StatusCode::Protocol, Of.Name + ": '" +
                                                    (*To.Specs)[I].name() +
                                                    "' is missing");
    return S;
  }

private:
  const SerializerType &Of; // never destroyed
  void *Handle;
  cbridge::c::Specs Specs;
  Tensors Given;
  std::vector<cbridge_bytes> Pieces;
  cbridge_error Error;
};

} // namespace

Expected<SerializerType> serializerType(const cbridge_serializer_type *Of,
                                        const std::string &Who) {
  SerializerType Type{"", Who, copied(Of)};
  const cbridge_serializer_type &C = Type.C;
  if (!C.name)
    return lacks(Who, "a serializer", "name");
  Type.Name = C.name;
  const char *Missing = !C.create    ? "create"
                        : !C.destroy ? "destroy"
                        : !C.encode  ? "encode"
                        : !C.decode  ? "decode"
                                     : nullptr;
  if (Missing)
    return lacks(Who, C.name, Missing);
  return Type;
}

Expected<std::unique_ptr<Serializer>> makeSerializer(const SerializerType &Of) {
  void *Handle = nullptr;
  cbridge_error Error = {};
  if (Status S = status(Of.C.create(&Handle, &Error), Error, Of.Who); !S)
    return S;
  return std::make_unique<ModuleSerializer>(Of, Handle);
}

} // namespace cbridge::c
