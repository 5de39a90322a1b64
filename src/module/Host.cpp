//===- Host.cpp - What modules can ask of us ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Adapters.h"

namespace cbridge::c {

std::vector<std::string_view> keyList(const char *const *Keys) {
  std::vector<std::string_view> List;
  for (; Keys && *Keys; ++Keys)
    List.emplace_back(*Keys);
  return List;
}

Status lacks(const std::string &Who, const char *Type, const char *Function) {
  return Status::error(StatusCode::Unsupported, Who + ": '" +
                                                    (Type ? Type : "") +
                                                    "' has no " + Function);
}

Status checkTensor(const TensorSpec &Spec, Span<const int64_t> Extents,
                   Bytes Data) {
  auto Wrong = [&](const std::string &Why) {
    return Status::error(StatusCode::Protocol, "'" + Spec.name() + "': " + Why);
  };
  if (Status S = Spec.checkExtents(Extents); !S)
    return Status::error(StatusCode::Protocol, S.message());
  Expected<size_t> Count = elementCount(Extents);
  if (!Count)
    return Wrong(Count.status().message());
  if (!Data.data() && Data.size())
    return Wrong(std::to_string(Data.size()) + " bytes at a null pointer");
  size_t Element = Spec.isString() ? sizeof(uint64_t) : sizeOf(Spec.type());
  if (reinterpret_cast<uintptr_t>(Data.data()) % Element)
    return Wrong("is not aligned to " + std::to_string(Element) + " bytes");
  if (Spec.isString()) {
    if (Status S = checkStringTensor(Data, *Count); !S)
      return Wrong(S.message());
    return Status();
  }
  if (Data.size() / Element != *Count || Data.size() % Element)
    return Wrong(std::to_string(Data.size()) + " bytes for " +
                 std::to_string(*Count) + " elements of " +
                 std::to_string(Element));
  if (Spec.type() == ElementType::Bool)
    for (unsigned char Byte : Data)
      if (Byte > 1)
        return Wrong("a bool that is " + std::to_string(Byte));
  return Status();
}

namespace {

cbridge_text addressText(const cbridge_address *A) {
  return text(A->Of.text());
}

cbridge_text addressTarget(const cbridge_address *A) {
  return text(A->Of.target());
}

int addressOption(cbridge_address *A, const char *Key, cbridge_text *Value) {
  if (!A->Of.has(Key))
    return 0;
  A->Values.push_back(A->Of.option(Key));
  *Value = text(A->Values.back());
  return 1;
}

cbridge_code addressDuration(const cbridge_address *A, const char *Key,
                             int64_t Default, int64_t *To,
                             cbridge_error *Error) {
  auto Given = A->Of.duration(Key, std::chrono::nanoseconds(Default));
  if (!Given)
    return report(Given.status(), Error);
  *To = Given->count();
  return CBRIDGE_OK;
}

cbridge_code addressByteSize(const cbridge_address *A, const char *Key,
                             uint64_t Default, uint64_t *To,
                             cbridge_error *Error) {
  auto Given = A->Of.byteSize(Key, Default);
  if (!Given)
    return report(Given.status(), Error);
  *To = *Given;
  return CBRIDGE_OK;
}

cbridge_code addressErrorAt(const cbridge_address *A, const char *Key,
                            const char *Why, cbridge_error *Error) {
  return report(Key ? A->Of.errorAt(Key, Why) : A->Of.errorAtTarget(Why),
                Error);
}

void *messageRoom(cbridge_message *M, size_t Size) {
  if (!M->To.lent().empty()) {
    M->Mistake = "own bytes behind lent ones";
    return nullptr;
  }
  if (Size > 2 * TensorStorage::MaxTensorBytes)
    return nullptr;
  void *Room = M->To.room(Size);
  M->Room = Room ? Size : 0;
  return Room;
}

void messageWrote(cbridge_message *M, size_t Size) {
  if (Size > M->Room) {
    M->Mistake = "more bytes than it had room for";
    return;
  }
  M->To.wrote(Size);
  M->Room -= Size;
}

void messageLend(cbridge_message *M, cbridge_bytes Piece) {
  M->To.lend(bytes(Piece));
}

void *decodedBacking(cbridge_decoded *D, size_t Size) {
  if (D->HasBacking || Size > TensorStorage::MaxTensorBytes ||
      !D->To.Backing.reserve(Size ? Size : 1, 0))
    return nullptr;
  D->HasBacking = true;
  D->Backing = Size;
  return D->To.Backing.data();
}

bool lies(Bytes What, Bytes In) {
  return What.data() >= In.data() && What.size() <= In.size() &&
         size_t(What.data() - In.data()) <= In.size() - What.size();
}

Status setDecoded(cbridge_decoded *D, size_t I, const cbridge_tensor &T) {
  if (I >= D->To.Specs->size())
    return Status::error(StatusCode::Protocol,
                         "there is no tensor " + std::to_string(I));
  const TensorSpec &Spec = (*D->To.Specs)[I];
  Span<const int64_t> Extents(T.extents, Spec.shape().size());
  Bytes Data = bytes(T.data);
  if (!T.extents && !Extents.empty())
    return Status::error(StatusCode::Protocol,
                         "'" + Spec.name() + "' has no extents");
  bool Found =
      Data.empty() || lies(Data, D->Payload) ||
      (D->HasBacking && lies(Data, {D->To.Backing.data(), D->Backing}));
  // What has to be checked must not change afterwards.
  if (!Spec.isString() && Spec.type() != ElementType::Bool)
    for (Bytes Piece : D->Lent)
      Found |= lies(Data, Piece);
  if (!Found)
    return Status::error(StatusCode::Protocol,
                         "'" + Spec.name() + "' lies outside of the message");
  if (Status S = checkTensor(Spec, Extents, Data); !S)
    return S;
  D->To.set(I, Extents, Data);
  return Status();
}

cbridge_code decodedSet(cbridge_decoded *D, size_t I, const cbridge_tensor *T,
                        cbridge_error *Error) {
  return report(setDecoded(D, I, *T), Error);
}

void filesAdd(cbridge_files *Files, int File) { Files->To.add(File); }

} // namespace

const cbridge_host &host() {
  static constexpr cbridge_host Host = {
      sizeof(cbridge_host), CBRIDGE_MODULE_VERSION,
      addressText,          addressTarget,
      addressOption,        addressDuration,
      addressByteSize,      addressErrorAt,
      messageRoom,          messageWrote,
      messageLend,          decodedBacking,
      decodedSet,           filesAdd};
  return Host;
}

} // namespace cbridge::c
