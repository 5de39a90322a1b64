//===- LogWriter.cpp - Writing decisions to a file ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/TrainingLog.h>

#include "core/AlignedBuffer.h"
#include "log/LogHeader.h"
#include "os/File.h"
#include "os/Folder.h"

#include <cerrno>
#include <charconv>
#include <limits>
#include <map>

#include <fcntl.h>

namespace cbridge {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "tensors are logged as they lie in memory: little-endian");

struct LogWriter::State {
  std::string Path;
  Signature Sig;
  os::File File;
  uint64_t Owner = os::processMark();
  Status Failure;
  uint64_t Written = 0; // bytes in the file

  AlignedBuffer Buffer; // what the next write(2) takes
  size_t Size = 0;

  std::string Context, ContextLine;
  bool HasContext = false;
  uint64_t Ordinal = 0;    // of the latest decision
  bool OutcomeDue = false; // it has none yet
  std::map<std::string, uint64_t, std::less<>> Counts;

  Status fail(const std::string &Why, StatusCode Code = StatusCode::Io) {
    Failure = Status::error(Code, "recording to " + Path + " stopped: " + Why);
    File.close();
    return Failure;
  }
  /// Why nothing can be written, if so.
  Status usable() const {
    if (!Failure.ok())
      return Failure;
    if (Owner != os::processMark())
      return Status::error(StatusCode::Forked,
                           Path + " is recorded by the parent process");
    return Status();
  }

  /// What is in the buffer is valid only if this has made room for all of it.
  bool room(size_t More) { return Buffer.reserve(Size + More, Size); }
  void put(const void *From, size_t Count) {
    if (Count)
      std::memcpy(Buffer.data() + Size, From, Count);
    Size += Count;
  }
  void put(std::string_view Text) { put(Text.data(), Text.size()); }
  void putLine(std::string_view Key, uint64_t Value) {
    char Digits[20];
    auto End = std::to_chars(Digits, Digits + sizeof(Digits), Value).ptr;
    put("{\"");
    put(Key);
    put("\":");
    put(Digits, size_t(End - Digits));
    put("}\n");
  }
  static constexpr size_t OutcomeRoom = 64, ObservationRoom = 64;
  void putOutcome(float Reward) {
    putLine("outcome", Ordinal);
    put(&Reward, sizeof(Reward));
    put("\n");
    OutcomeDue = false;
  }
  void putTensor(const TensorView &V) {
    if (!V.Spec->isFixed()) {
      put(V.Extents.data(), V.Extents.size() * sizeof(int64_t));
      uint64_t Bytes = V.Data.size();
      if (V.Spec->isString())
        put(&Bytes, sizeof(Bytes));
    }
    put(V.Data.data(), V.Data.size());
  }
  Status check(Span<const TensorView> Views,
               const std::vector<TensorSpec> &Specs, size_t &Bytes) const;
  Status flush();
};

/// That Views are tensors of these Specs; adds up how long they will be.
Status LogWriter::State::check(Span<const TensorView> Views,
                               const std::vector<TensorSpec> &Specs,
                               size_t &Bytes) const {
  if (Views.size() != Specs.size())
    return Status::error(StatusCode::InvalidArgument,
                         Path + ": " + std::to_string(Views.size()) +
                             " tensors for " + std::to_string(Specs.size()) +
                             " specs");
  for (size_t I = 0; I < Views.size(); ++I) {
    const TensorView &V = Views[I];
    const TensorSpec &Spec = Specs[I];
    size_t Wanted = Spec.elementCount() * sizeOf(Spec.type());
    if (V.Spec->type() != Spec.type())
      return Status::error(StatusCode::TypeMismatch,
                           "'" + Spec.name() + "' is " + Spec.typeAndShape() +
                               ", got " +
                               std::string(toString(V.Spec->type())));
    if (!Spec.isFixed()) {
      if (Status S = Spec.checkExtents(V.Extents); !S)
        return S;
      Expected<size_t> Count = elementCount(V.Extents);
      if (!Count)
        return Count.status().withContext("'" + Spec.name() + "'");
      Wanted = *Count * sizeOf(Spec.type());
      if (Spec.isString()) {
        if (Status S = checkStringTensor(V.Data, *Count); !S)
          return S.withContext("'" + Spec.name() + "'");
        Wanted = V.Data.size();
      }
    }
    if (V.Data.size() != Wanted)
      return Status::error(StatusCode::ShapeMismatch,
                           "'" + Spec.name() + "' is " + Spec.typeAndShape() +
                               ", got " + std::to_string(V.Data.size()) +
                               " bytes");
    Bytes += Wanted + shapeWords(Spec) * sizeof(int64_t);
  }
  return Status();
}

Status LogWriter::State::flush() {
  // Beyond the limit the kernel would end the process.
  uint64_t Limit = os::fileSizeLimit();
  if (Written > Limit || Size > Limit - Written)
    return fail("a file may not have more than " + std::to_string(Limit) +
                " bytes");
  for (size_t Done = 0; Done < Size;) {
    Bytes Rest(Buffer.data() + Done, Size - Done);
    os::Transfer T = os::writeSome(File.get(), {&Rest, 1});
    if (T.Kind != os::Transfer::Done || T.Size == 0) {
      char Text[128];
      int Code = T.Kind == os::Transfer::Done ? ENOSPC : errno;
      return fail(::strerror_r(Code, Text, sizeof(Text)));
    }
    Done += T.Size;
  }
  Written += Size;
  Size = 0;
  return Status();
}

LogWriter::LogWriter(std::unique_ptr<State> S) : S(std::move(S)) {}
LogWriter::LogWriter(LogWriter &&) noexcept = default;

LogWriter &LogWriter::operator=(LogWriter &&Other) noexcept {
  if (this != &Other) {
    if (S)
      (void)finish();
    S = std::move(Other.S);
  }
  return *this;
}

LogWriter::~LogWriter() {
  if (S) // else moved from
    (void)finish();
}

Expected<LogWriter> LogWriter::open(const std::string &Path, Signature Sig,
                                    Existing IfThere) {
  if (Status Valid = Sig.validate(); !Valid)
    return Valid;
  int Flags = O_WRONLY | O_CREAT | (IfThere == Replace ? O_TRUNC : O_EXCL);
  Expected<os::File> File = os::openFile(Path, Flags, 0666);
  if (!File)
    return File.status();
  auto Made = std::make_unique<State>();
  Made->Path = Path;
  Made->File = std::move(*File);
  Made->Sig = std::move(Sig);
  std::string Header = LogHeader::encode(Made->Sig);
  if (!Made->room(Header.size()))
    return Status::error(StatusCode::OutOfMemory, Path + ": no memory");
  Made->put(Header);
  return LogWriter(std::move(Made));
}

Status LogWriter::observe(std::string_view Context, uint64_t Ordinal,
                          Span<const TensorView> Features,
                          Span<const TensorView> Decision) {
  State &W = *S;
  if (Status Usable = W.usable(); !Usable)
    return Usable;
  size_t Tensors = 0;
  if (Status Fits = W.check(Features, W.Sig.inputs(), Tensors); !Fits)
    return Fits;
  if (Status Fits = W.check(Decision, W.Sig.outputs(), Tensors); !Fits)
    return Fits;
  bool NewContext = !W.HasContext || W.Context != Context;
  if (NewContext) {
    W.ContextLine = "{\"context\":";
    appendLogString(W.ContextLine, Context);
    W.ContextLine += "}\n";
    if (W.ContextLine.size() > MaxLogLine) {
      W.ContextLine = std::string();
      return Status::error(StatusCode::InvalidArgument,
                           "a context of " + std::to_string(Context.size()) +
                               " bytes; logs hold up to 16 MiB");
    }
    W.Context = Context;
    W.HasContext = true;
  }
  if (!W.room(State::OutcomeRoom + W.ContextLine.size() +
              State::ObservationRoom + Tensors))
    return W.fail("no memory for a decision of " + std::to_string(Tensors) +
                      " bytes",
                  StatusCode::OutOfMemory);
  if (W.OutcomeDue)
    W.putOutcome(std::numeric_limits<float>::quiet_NaN());
  if (NewContext)
    W.put(W.ContextLine);
  W.Ordinal = Ordinal;
  W.putLine("observation", Ordinal);
  for (const TensorView &V : Features)
    W.putTensor(V);
  for (const TensorView &V : Decision)
    W.putTensor(V);
  W.put("\n");
  W.OutcomeDue = true;
  return W.flush();
}

Status LogWriter::observe(std::string_view Context,
                          Span<const TensorView> Features,
                          Span<const TensorView> Decision) {
  auto Count = S->Counts.find(Context);
  if (Count == S->Counts.end())
    Count = S->Counts.emplace(Context, 0).first;
  Status Done = observe(Context, Count->second, Features, Decision);
  if (Done.ok())
    ++Count->second;
  return Done;
}

Status LogWriter::reward(double Value) {
  if (Status Usable = S->usable(); !Usable)
    return Usable;
  if (!S->OutcomeDue)
    return Status::error(StatusCode::InvalidArgument,
                         S->Path + ": there is no decision to reward");
  S->putOutcome(static_cast<float>(Value));
  return S->flush();
}

Status LogWriter::finish() {
  if (!S->OutcomeDue)
    return S->Failure;
  if (Status Usable = S->usable(); !Usable)
    return Usable;
  S->putOutcome(std::numeric_limits<float>::quiet_NaN());
  return S->flush();
}

const std::string &LogWriter::path() const { return S->Path; }
const Signature &LogWriter::signature() const { return S->Sig; }

} // namespace cbridge
