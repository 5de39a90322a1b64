//===- LogReader.cpp - Reading decisions from a file ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/TrainingLog.h>

#include "core/AlignedBuffer.h"
#include "log/LogHeader.h"
#include "log/LogLine.h"
#include "os/File.h"
#include "os/Folder.h"

#include <cbridge/Number.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fcntl.h>

namespace cbridge {

namespace {

constexpr size_t ChunkSize = size_t(64) << 10;

/// A file, or bytes in memory, of which a growing window is seen.
class Window {
public:
  os::File File;
  Bytes Memory;

  /// The next Count bytes; null if there are fewer, or if failed().
  const unsigned char *peek(size_t Count) {
    while (End - Begin < Count)
      if (!more())
        return nullptr;
    return Buffer.data() + Begin;
  }
  /// The next line without its end; false if there is none, or if failed().
  bool line(std::string_view &Text) {
    size_t Seen = 0;
    for (;;) {
      const unsigned char *Start = Buffer.data() + Begin;
      size_t Have = End - Begin;
      const void *Found =
          Have > Seen ? std::memchr(Start + Seen, '\n', Have - Seen) : nullptr;
      if (Found) {
        size_t Length =
            size_t(static_cast<const unsigned char *>(Found) - Start);
        Text = {reinterpret_cast<const char *>(Start), Length};
        skip(Length + 1);
        return true;
      }
      Seen = Have;
      if (Seen > MaxLogLine) {
        Failure =
            Status::error(StatusCode::Protocol, "a line of more than 16 MiB");
        return false;
      }
      if (!more())
        return false;
    }
  }
  void skip(size_t Count) {
    Begin += Count;
    Offset += Count;
  }
  bool atEnd() { return Begin == End && !more(); }
  /// Where the window begins in the file.
  uint64_t offset() const { return Offset; }
  const Status &failed() const { return Failure; }

private:
  bool more() {
    if (!Failure.ok())
      return false;
    // Move what is left to the front, and grow by what was really there.
    if (Begin && End + ChunkSize > Buffer.capacity()) {
      std::memmove(Buffer.data(), Buffer.data() + Begin, End - Begin);
      End -= Begin;
      Begin = 0;
    }
    if (End + ChunkSize > Buffer.capacity() &&
        !Buffer.reserve(2 * End + ChunkSize, End)) {
      Failure = Status::error(StatusCode::OutOfMemory, "no memory");
      return false;
    }
    MutableBytes To(Buffer.data() + End, Buffer.capacity() - End);
    size_t Size = std::min(To.size(), Memory.size());
    if (File) {
      os::Transfer T = os::readSome(File.get(), To);
      if (T.Kind == os::Transfer::Closed)
        return false;
      if (T.Kind != os::Transfer::Done) {
        Failure = os::lastError("cannot be read");
        return false;
      }
      Size = T.Size;
    } else if (Size) {
      std::memcpy(To.data(), Memory.data(), Size);
      Memory = Memory.subspan(Size, Memory.size() - Size);
    }
    End += Size;
    return Size != 0;
  }

  AlignedBuffer Buffer;
  size_t Begin = 0, End = 0;
  uint64_t Offset = 0;
  Status Failure;
};

} // namespace

struct LogReader::State {
  std::string Path;
  Window In;
  LogHeader Header;
  std::string Context;
  bool Cut = false, Ended = false;
  Status Failure;

  LogRecord Record;
  std::vector<TensorView> Views; // features, then the decision
  std::vector<std::array<int64_t, MaxRank>> Extents;
  std::vector<size_t> Places; // of the tensors in Elements
  AlignedBuffer Elements;     // aligned, which the file is not
  size_t ElementsSize = 0;

  Status malformed(uint64_t Offset, const std::string &Why,
                   StatusCode Code = StatusCode::Protocol) {
    Failure = Status::error(Code, Path + ", byte " + std::to_string(Offset) +
                                      ": " + Why);
    return Failure;
  }
  /// The file ends here, or cannot be read any further.
  Status end(bool WasCut) {
    if (!In.failed().ok())
      return malformed(In.offset(), In.failed().message(), In.failed().code());
    Ended = true;
    Cut = WasCut;
    return Status();
  }
  const TensorSpec &spec(size_t I) const {
    size_t Inputs = Header.Sig.inputs().size();
    return I < Inputs ? Header.Sig.inputs()[I]
                      : Header.Sig.outputs()[I - Inputs];
  }

  Status readHeader();
  Status readNext(bool &Found);
  Status readTensor(size_t I);
  Status readOutcome();
  Status endOfRecord();
};

Status LogReader::State::readHeader() {
  std::string_view Line;
  if (!In.line(Line)) {
    if (!In.failed().ok())
      return malformed(0, In.failed().message(), In.failed().code());
    return Status::error(StatusCode::Unavailable,
                         Path + " ends within its first line");
  }
  Expected<LogHeader> H = LogHeader::decode(Line);
  if (!H)
    return malformed(0, H.status().message());
  Header = std::move(*H);
  size_t Count = Header.Sig.inputs().size() + Header.Sig.outputs().size();
  Views.resize(Count);
  Extents.resize(Count);
  Places.resize(Count);
  Span<const TensorView> All = Views;
  Record.Features = All.subspan(0, Header.Sig.inputs().size());
  Record.Decision =
      All.subspan(Record.Features.size(), Header.Sig.outputs().size());
  return Status();
}

/// Reads one tensor to Elements; ends if the file does.
Status LogReader::State::readTensor(size_t I) {
  const TensorSpec &Spec = spec(I);
  Span<const int64_t> Shape = Spec.shape();
  uint64_t StringBytes = 0;
  if (size_t Words = shapeWords(Spec)) {
    uint64_t At = In.offset();
    const unsigned char *Raw = In.peek(Words * sizeof(int64_t));
    if (!Raw)
      return end(true);
    std::memcpy(Extents[I].data(), Raw, Shape.size() * sizeof(int64_t));
    if (Spec.isString())
      std::memcpy(&StringBytes, Raw + Shape.size() * sizeof(int64_t),
                  sizeof(StringBytes));
    In.skip(Words * sizeof(int64_t));
    Shape = {Extents[I].data(), Shape.size()};
    if (Status S = Spec.checkExtents(Shape); !S)
      return malformed(At, S.message());
  }
  uint64_t At = In.offset();
  Expected<size_t> Count = elementCount(Shape);
  if (!Count)
    return malformed(At, "'" + Spec.name() + "': " + Count.status().message());
  uint64_t Size =
      Spec.isString() ? StringBytes : uint64_t(*Count) * sizeOf(Spec.type());
  if (Size > TensorStorage::MaxTensorBytes)
    return malformed(At, "'" + Spec.name() + "': " + std::to_string(Size) +
                             " bytes are above the cap of " +
                             std::to_string(TensorStorage::MaxTensorBytes));
  const unsigned char *Raw = In.peek(Size);
  if (!Raw && Size)
    return end(true);
  size_t Place = alignUp(ElementsSize);
  if (Place + Size > Elements.capacity() &&
      !Elements.reserve(2 * Place + Size, ElementsSize))
    return malformed(At, "no memory", StatusCode::OutOfMemory);
  if (Size)
    std::memcpy(Elements.data() + Place, Raw, Size);
  In.skip(Size);
  ElementsSize = Place + Size;
  Places[I] = Place;
  Bytes Data(Elements.data() + Place, Size);
  if (Spec.isString()) {
    if (Status S = checkStringTensor(Data, *Count); !S)
      return malformed(At, "'" + Spec.name() + "': " + S.message());
  } else if (Spec.type() == ElementType::Bool) {
    for (unsigned char Byte : Data)
      if (Byte > 1)
        return malformed(At, "'" + Spec.name() + "': a bool that is " +
                                 std::to_string(Byte));
  }
  Views[I] = {&Spec, Shape, Data};
  return Status();
}

/// The newline behind tensors.
Status LogReader::State::endOfRecord() {
  const unsigned char *Byte = In.peek(1);
  if (!Byte)
    return end(true);
  if (*Byte != '\n')
    return malformed(In.offset(), "expected the end of a line behind tensors");
  In.skip(1);
  return Status();
}

Status LogReader::State::readOutcome() {
  uint64_t At = In.offset();
  std::string_view Line;
  if (!In.line(Line))
    return end(true);
  std::string Ignored; // the record still shows its context
  Expected<LogLine> Said = LogLine::decode(Line, Ignored);
  if (!Said)
    return malformed(At, Said.status().message());
  if (Said->Outcome != Record.Ordinal)
    return malformed(At, "expected the outcome of observation " +
                             std::to_string(Record.Ordinal));
  const TensorSpec &Score = *Header.Score;
  const unsigned char *Raw = In.peek(sizeOf(Score.type()));
  if (!Raw)
    return end(true);
  double Value = Number::load(Score.type(), Raw).real();
  In.skip(sizeOf(Score.type()));
  if (Status S = endOfRecord(); !S || Ended)
    return S;
  if (!std::isnan(Value))
    Record.Reward = Value;
  return Status();
}

Status LogReader::State::readNext(bool &Found) {
  Found = false;
  std::optional<uint64_t> Ordinal;
  while (!Ordinal) {
    uint64_t At = In.offset();
    if (In.atEnd())
      return end(false);
    std::string_view Line;
    if (!In.line(Line))
      return end(true);
    Expected<LogLine> Said = LogLine::decode(Line, Context);
    if (!Said)
      return malformed(At, Said.status().message());
    Ordinal = Said->Observation;
    if (!Ordinal && !Said->NamesContext)
      return malformed(At, "expected a context or an observation");
  }
  Record.Context = Context;
  Record.Ordinal = *Ordinal;
  Record.Reward.reset();
  ElementsSize = 0;
  for (size_t I = 0; I < Views.size(); ++I)
    if (Status S = readTensor(I); !S || Ended)
      return S;
  for (size_t I = 0; I < Views.size(); ++I) // Elements may have moved
    Views[I].Data = {Elements.data() + Places[I], Views[I].Data.size()};
  if (Status S = endOfRecord(); !S || Ended)
    return S;
  Found = true; // also if its outcome is missing
  return Header.Score ? readOutcome() : Status();
}

LogReader::LogReader(std::unique_ptr<State> S) : S(std::move(S)) {}
LogReader::LogReader(LogReader &&) noexcept = default;
LogReader &LogReader::operator=(LogReader &&) noexcept = default;
LogReader::~LogReader() = default;

Expected<LogReader> LogReader::open(const std::string &Path) {
  // A FIFO opens without anybody who writes, and then is empty.
  Expected<os::File> File = os::openFile(Path, O_RDONLY | O_NONBLOCK);
  if (!File)
    return File.status();
  ::fcntl(File->get(), F_SETFL, 0);
  auto Made = std::make_unique<State>();
  Made->Path = Path;
  Made->In.File = std::move(*File);
  if (Status S = Made->readHeader(); !S)
    return S;
  return LogReader(std::move(Made));
}

Expected<LogReader> LogReader::over(Bytes Content, std::string Name) {
  auto Made = std::make_unique<State>();
  Made->Path = std::move(Name);
  Made->In.Memory = Content;
  if (Status S = Made->readHeader(); !S)
    return S;
  return LogReader(std::move(Made));
}

Expected<const LogRecord *> LogReader::next() {
  bool Found = false;
  if (S->Failure.ok() && !S->Ended)
    if (Status Read = S->readNext(Found); !Read)
      return Read;
  if (!S->Failure.ok())
    return S->Failure;
  return Found ? &S->Record : nullptr;
}

const Signature &LogReader::signature() const { return S->Header.Sig; }
const std::optional<TensorSpec> &LogReader::advice() const {
  return S->Header.Advice;
}
const std::optional<TensorSpec> &LogReader::score() const {
  return S->Header.Score;
}
bool LogReader::cut() const { return S->Cut; }
const std::string &LogReader::path() const { return S->Path; }

Expected<std::vector<std::string>> findLogs(const std::string &Path) {
  if (!os::isFolder(Path))
    return std::vector<std::string>{Path};
  Expected<std::vector<std::string>> Names = os::listFolder(Path);
  if (!Names)
    return Names.status();
  std::vector<std::string> Logs;
  std::string Folder = Path.back() == '/' ? Path : Path + "/";
  for (const std::string &Name : *Names)
    if (Name.size() > 4 && Name.compare(Name.size() - 4, 4, ".log") == 0)
      Logs.push_back(Folder + Name);
  return Logs;
}

} // namespace cbridge
