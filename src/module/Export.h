//===- Export.h - Our classes in a module's table ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For modules in C++ that link this library: exportRunner, exportSerializer and
// exportChannel make the C types of cbridge/module.h from functions and classes
// of ours, and CBRIDGE_EXPORT_MODULE the function that a module exports. In one
// file of a module only; see examples/own-serializer and examples/own-channel.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULE_EXPORT_H
#define CBRIDGE_MODULE_EXPORT_H

#include "channel/Channel.h"
#include "module/CAbi.h"
#include "serdes/Serializer.h"

#include <cbridge/Registry.h>

#if defined(__cpp_exceptions)
#include <exception>
#endif

namespace cbridge::exported {

inline const cbridge_host *Host = nullptr;

/// Calls Body, which returns a Status; no exception gets out.
template <typename Callable>
cbridge_code guarded(cbridge_error *Error, Callable Body) noexcept {
#if defined(__cpp_exceptions)
  try {
    return c::report(Body(), Error);
  } catch (const std::exception &E) {
    return c::report(Status::error(StatusCode::OutOfMemory, E.what()), Error);
  } catch (...) {
    return c::report(Status::error(StatusCode::Io, "an exception"), Error);
  }
#else
  return c::report(Body(), Error);
#endif
}

inline Expected<RunnerString> parse(const cbridge_address *Address) {
  return RunnerString::parse(c::text(Host->text(Address)));
}

inline bool describes(const cbridge_spec &C, const TensorSpec &Ours) {
  return c::text(C.name) == Ours.name() && C.type == int32_t(Ours.type()) &&
         C.rank == Ours.shape().size() &&
         std::equal(C.shape, C.shape + C.rank, Ours.shape().begin());
}

/// The host's specs as ours. The same list as before costs no allocation.
class SpecCache {
public:
  const DecodedTensors::SpecList &get(const cbridge_spec *Specs, size_t Count) {
    bool Same = Held && Held->size() == Count;
    for (size_t I = 0; Same && I < Count; ++I)
      Same = describes(Specs[I], (*Held)[I]);
    if (!Same)
      Held = std::make_shared<std::vector<TensorSpec>>(list(Specs, Count));
    return Held;
  }
  static std::vector<TensorSpec> list(const cbridge_spec *Specs, size_t Count) {
    std::vector<TensorSpec> List;
    for (const cbridge_spec &C : Span<const cbridge_spec>(Specs, Count))
      List.emplace_back(std::string(c::text(C.name)), ElementType(C.type),
                        std::vector<int64_t>(C.shape, C.shape + C.rank));
    return List;
  }

private:
  DecodedTensors::SpecList Held;
};

/// A serializer and what it needs to live behind a C table.
struct SerializerHandle {
  std::unique_ptr<Serializer> Of;
  SpecCache Specs, DecodedSpecs;
  std::vector<TensorView> Views;
  Message Encoded;
  std::optional<DecodedTensors> Decoded;
  std::vector<Bytes> Lent;

  Status encode(const cbridge_spec *Given, const cbridge_tensor *Tensors,
                size_t Count, cbridge_message *To) {
    const DecodedTensors::SpecList &List = Specs.get(Given, Count);
    Views.clear();
    for (size_t I = 0; I < Count; ++I)
      Views.push_back({&(*List)[I],
                       {Tensors[I].extents, (*List)[I].shape().size()},
                       c::bytes(Tensors[I].data)});
    if (Status S = Of->encode(Views, Encoded); !S)
      return S;
    Bytes Own = Encoded.own();
    void *Room = Own.empty() ? nullptr : Host->room(To, Own.size());
    if (!Own.empty() && !Room)
      return Status::error(StatusCode::OutOfMemory, "no memory for a message");
    if (Room) {
      std::memcpy(Room, Own.data(), Own.size());
      Host->wrote(To, Own.size());
    }
    for (Bytes Piece : Encoded.lent())
      Host->lend(To, c::bytes(Piece));
    return Status();
  }

  Status decode(Bytes Payload, const cbridge_bytes *Pieces, size_t PieceCount,
                const cbridge_spec *Given, size_t Count, cbridge_decoded *To) {
    const DecodedTensors::SpecList &List = DecodedSpecs.get(Given, Count);
    if (!Decoded)
      Decoded.emplace(List);
    Decoded->describe(List);
    Lent.clear();
    for (size_t I = 0; I < PieceCount; ++I)
      Lent.push_back(c::bytes(Pieces[I]));
    if (Status S = Lent.empty() ? Of->decode(Payload, *Decoded)
                                : Of->decodeLent(Payload, Lent, *Decoded);
        !S)
      return S;
    return handOver(Payload, To);
  }

private:
  /// What was built moves to the host, where it lives longer than here.
  Status handOver(Bytes Payload, cbridge_decoded *To) {
    auto Built = [&](Bytes Data) {
      auto *Memory = Decoded->Backing.data();
      return !Data.empty() && Data.data() >= Memory &&
             Data.data() < Memory + Decoded->Backing.capacity() &&
             !(Data.data() >= Payload.data() &&
               Data.data() < Payload.data() + Payload.size());
    };
    size_t Total = 0;
    for (const TensorView &V : Decoded->Views)
      Total += Built(V.Data) ? alignUp(V.Data.size()) : 0;
    auto *At = static_cast<unsigned char *>(Total ? Host->backing(To, Total)
                                                  : nullptr);
    if (Total && !At)
      return Status::error(StatusCode::OutOfMemory, "no memory for tensors");
    for (size_t I = 0; I < Decoded->Views.size(); ++I) {
      TensorView V = Decoded->Views[I];
      if (Built(V.Data)) {
        std::memcpy(At, V.Data.data(), V.Data.size());
        V.Data = {At, V.Data.size()};
        At += alignUp(V.Data.size());
      }
      cbridge_tensor T = c::tensor(V);
      cbridge_error Error;
      if (cbridge_code Code = Host->set(To, I, &T, &Error))
        return c::status(Code, Error, "the host");
    }
    return Status();
  }
};

/// `serdes=Name`, by class S.
template <typename S>
constexpr cbridge_serializer_type exportSerializer(const char *Name,
                                                   bool DecodesLent = false) {
  cbridge_serializer_type T = {};
  T.size = sizeof(T);
  T.name = Name;
  T.decodes_lent = DecodesLent;
  T.create = [](void **To, cbridge_error *Error) {
    return guarded(Error, [&] {
      auto Made = std::make_unique<SerializerHandle>();
      Made->Of = std::make_unique<S>();
      *To = Made.release();
      return Status();
    });
  };
  T.destroy = [](void *H) { delete static_cast<SerializerHandle *>(H); };
  T.encode = [](void *H, const cbridge_spec *Specs,
                const cbridge_tensor *Tensors, size_t Count,
                cbridge_message *To, cbridge_error *Error) {
    return guarded(Error, [&] {
      return static_cast<SerializerHandle *>(H)->encode(Specs, Tensors, Count,
                                                        To);
    });
  };
  T.decode = [](void *H, cbridge_bytes Payload, const cbridge_bytes *Lent,
                size_t LentCount, const cbridge_spec *Specs, size_t Count,
                cbridge_decoded *To, cbridge_error *Error) {
    return guarded(Error, [&] {
      return static_cast<SerializerHandle *>(H)->decode(
          c::bytes(Payload), Lent, LentCount, Specs, Count, To);
    });
  };
  return T;
}

} // namespace cbridge::exported

#include "module/ExportChannel.h"
#include "module/ExportRunner.h"

/// The function that a module exports; Table is a cbridge_module.
#define CBRIDGE_EXPORT_MODULE(Table)                                           \
  extern "C" const cbridge_module *cbridge_module_v1(                          \
      const cbridge_host *Host) {                                              \
    if (Host->version != CBRIDGE_MODULE_VERSION)                               \
      return nullptr;                                                          \
    cbridge::exported::Host = Host;                                            \
    return &(Table);                                                           \
  }

#endif // CBRIDGE_MODULE_EXPORT_H
