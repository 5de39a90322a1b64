//===- InteractiveStream.cpp - What LLVM asks, as it arrives --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InteractiveStream.h"

#include "log/LogHeader.h"
#include "log/LogLine.h"

namespace cbridge {

namespace {

constexpr size_t ChunkSize = size_t(64) << 10;

size_t bytesOf(const TensorSpec &Spec) {
  return Spec.elementCount() * sizeOf(Spec.type());
}

} // namespace

MutableBytes InteractiveStream::space() {
  if (Begin == End)
    Begin = End = 0;
  if (Begin && End + ChunkSize > Buffer.capacity()) {
    std::memmove(Buffer.data(), Buffer.data() + Begin, End - Begin);
    End -= Begin;
    Begin = 0;
  }
  if (End + ChunkSize > Buffer.capacity() &&
      !Buffer.reserve(2 * End + ChunkSize, End))
    return {};
  return {Buffer.data() + End, Buffer.capacity() - End};
}

void InteractiveStream::reset() {
  Begin = End = Seen = 0;
  Sig = Signature();
  Storage.reset();
  Context.clear();
  Observing = false;
  Failure = Status();
}

Status InteractiveStream::fail(const std::string &Why) {
  Failure = Status::error(StatusCode::Protocol, Why);
  return Failure;
}

/// The next line without its end, valid until space(); false if there is none.
bool InteractiveStream::takeLine(std::string_view &Line) {
  const unsigned char *Start = Buffer.data() + Begin;
  size_t Have = End - Begin;
  const void *Found =
      Have > Seen ? std::memchr(Start + Seen, '\n', Have - Seen) : nullptr;
  if (!Found) {
    Seen = Have;
    return false;
  }
  size_t Length = size_t(static_cast<const unsigned char *>(Found) - Start);
  Line = {reinterpret_cast<const char *>(Start), Length};
  Begin += Length + 1;
  Seen = 0;
  return true;
}

Status InteractiveStream::readHeader(std::string_view Line) {
  Expected<LogHeader> H = LogHeader::decode(Line);
  if (!H)
    return fail(H.status().message());
  if (!H->Advice)
    return fail("the header: there is no \"advice\"");
  // A log's last feature may be its decision; a question's never is.
  std::vector<TensorSpec> Features = H->Sig.inputs();
  Features.insert(Features.end(), H->Sig.outputs().begin(),
                  H->Sig.outputs().end());
  Sig = Signature(std::move(Features), *H->Advice);
  if (Status S = Sig.validate(); !S)
    return fail("the header: " + S.message());
  uint64_t Size = 0;
  for (const TensorSpec &Spec : Sig.inputs()) {
    if (!Spec.isFixed() || Spec.type() == ElementType::Bool)
      return fail("the header: feature '" + Spec.name() + "' is " +
                  Spec.typeAndShape());
    Size += bytesOf(Spec);
    if (Size > MaxObservation)
      return fail("the header: features of more than " +
                  std::to_string(MaxObservation) + " bytes");
  }
  const TensorSpec &Advice = Sig.outputs()[0];
  if (!Advice.isFixed() || bytesOf(Advice) == 0 || bytesOf(Advice) > MaxAdvice)
    return fail("the header: advice '" + Advice.name() + "' is " +
                Advice.typeAndShape());
  ObservationSize = Size;
  Storage.emplace(Sig.inputs());
  Context.clear();
  if (Status S = Storage->status(); !S) {
    Failure = S;
    return S;
  }
  return Status();
}

Status InteractiveStream::readObservation() {
  const unsigned char *From = Buffer.data() + Begin;
  if (From[ObservationSize] != '\n')
    return fail("expected the end of a line behind the features");
  for (size_t I = 0; I < Storage->size(); ++I) {
    MutableBytes To = Storage->bytes(I);
    if (!To.empty())
      std::memcpy(To.data(), From, To.size());
    From += To.size();
  }
  Begin += ObservationSize + 1;
  Observing = false;
  return Status();
}

Expected<InteractiveStream::Event> InteractiveStream::next() {
  while (Failure.ok()) {
    if (Observing) {
      if (End - Begin <= ObservationSize)
        return Event::Nothing;
      if (readObservation().ok())
        return Event::Question;
      break;
    }
    std::string_view Line;
    if (!takeLine(Line)) {
      if (Seen > MaxLogLine)
        (void)fail("a line of more than 16 MiB");
      else
        return Event::Nothing;
      break;
    }
    if (!Storage) {
      if (readHeader(Line).ok())
        return Event::Began;
      break;
    }
    Expected<LogLine> Said = LogLine::decode(Line, Context);
    if (!Said) {
      (void)fail(Said.status().message());
    } else if (Said->Observation) {
      Ordinal = *Said->Observation;
      Observing = true;
    } else if (!Said->NamesContext) {
      // The next compiler came before it was seen that the last one left.
      if (readHeader(Line).ok())
        return Event::Began;
    }
  }
  return Failure;
}

} // namespace cbridge
