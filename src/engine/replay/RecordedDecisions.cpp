//===- RecordedDecisions.cpp - A log in memory ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/replay/RecordedDecisions.h"

#include "log/TensorText.h"

#include <filesystem>

namespace cbridge {

namespace {

Status mapSide(const std::string &File, const char *What,
               const std::vector<TensorSpec> &Wanted,
               const std::vector<TensorSpec> &Logged, std::vector<size_t> &To) {
  To.clear();
  for (const TensorSpec &Spec : Wanted) {
    size_t I = 0;
    while (I < Logged.size() && Logged[I].name() != Spec.name())
      ++I;
    std::string Who = File + ": " + What + " '" + Spec.name() + "'";
    if (I == Logged.size())
      return Status::error(StatusCode::TypeMismatch,
                           Who + " is not in the log");
    if (Logged[I] != Spec)
      return Status::error(StatusCode::TypeMismatch,
                           Who + " is " + Spec.typeAndShape() +
                               ", in the log " + Logged[I].typeAndShape());
    To.push_back(I);
  }
  for (const TensorSpec &Spec : Logged) {
    bool Known = false;
    for (const TensorSpec &Each : Wanted)
      Known |= Each.name() == Spec.name();
    if (!Known)
      return Status::error(StatusCode::TypeMismatch,
                           File + ": " + What + " '" + Spec.name() +
                               "' of the log is not in the signature");
  }
  return Status();
}

std::string whichDecision(std::string_view Name, uint64_t Ordinal) {
  return "decision " + std::to_string(Ordinal) + " of context '" +
         std::string(Name) + "'";
}

/// Sizes and bytes of a tensor, so that no two keys run into each other.
void addToKey(std::string &Key, const TensorView &V) {
  auto Add = [&](const void *Data, size_t Size) {
    Key.append(static_cast<const char *>(Data), Size);
  };
  uint64_t Size = V.Data.size();
  Add(V.Extents.data(), V.Extents.size() * sizeof(int64_t));
  Add(&Size, sizeof(Size));
  Add(V.Data.data(), Size);
}

constexpr size_t WordSize = sizeof(uint64_t);
size_t toWords(size_t Size) { return (Size + WordSize - 1) / WordSize; }

} // namespace

Expected<std::shared_ptr<RecordedDecisions>>
RecordedDecisions::load(const std::string &Path, const Signature &Sig,
                        bool CompareFeatures) {
  auto Made = std::make_shared<RecordedDecisions>();
  Made->Path = Path;
  Made->Sig = Sig;
  Made->CompareFeatures = CompareFeatures;
  if (Status S = Made->readAll(); !S)
    return S;
  return Made;
}

Expected<std::shared_ptr<RecordedDecisions>>
RecordedDecisions::loadByKey(const std::string &Path, const Signature &Sig,
                             const std::vector<std::string> &Keys) {
  auto Made = std::make_shared<RecordedDecisions>();
  Made->Path = Path;
  Made->Sig = Sig;
  Made->CompareFeatures = false;
  for (const std::string &Key : Keys) {
    std::optional<size_t> I = Sig.inputIndex(Key);
    if (!I)
      return Status::error(StatusCode::TypeMismatch,
                           "key '" + Key + "' is no feature of the pass");
    Made->KeyInputs.push_back(*I);
  }
  if (Status S = Made->readAll(); !S)
    return S;
  return Made;
}

Status RecordedDecisions::readAll() {
  Expected<std::vector<std::string>> Files = findLogs(Path);
  if (!Files)
    return Files.status();
  if (Files->empty())
    return Status::error(StatusCode::Unavailable,
                         Path + ": no file in it ends in .log");
  for (const std::string &File : *Files)
    // A compiler that was killed early may leave a log of nothing.
    if (Status S = add(File);
        !S && !(S.code() == StatusCode::Unavailable && Files->size() > 1))
      return S;
  return Status();
}

Status RecordedDecisions::map(const std::string &File,
                              const Signature &Logged) {
  if (CompareFeatures)
    if (Status S =
            mapSide(File, "feature", Sig.inputs(), Logged.inputs(), InputMap);
        !S)
      return S;
  if (hasKeys()) {
    InputMap.clear();
    for (size_t Key : KeyInputs) {
      const TensorSpec &Spec = Sig.inputs()[Key];
      std::optional<size_t> I = Logged.inputIndex(Spec.name());
      if (!I || Logged.inputs()[*I] != Spec)
        return Status::error(StatusCode::TypeMismatch,
                             File + ": key '" + Spec.name() + "' is " +
                                 Spec.typeAndShape() + ", in the log " +
                                 (I ? Logged.inputs()[*I].typeAndShape()
                                    : std::string("there is none")));
      InputMap.push_back(*I);
    }
  }
  if (Logged.outputs().empty())
    return Status::error(StatusCode::TypeMismatch,
                         File + ": the log holds no decisions");
  return mapSide(File, "decision", Sig.outputs(), Logged.outputs(), OutputMap);
}

Status RecordedDecisions::add(const std::string &File) {
  std::error_code Unknown; // which opening will tell
  auto Kind = std::filesystem::status(File, Unknown).type();
  if (!Unknown && Kind != std::filesystem::file_type::regular &&
      Kind != std::filesystem::file_type::not_found)
    return Status::error(StatusCode::Io, File + " is no regular file");
  Expected<LogReader> Log = LogReader::open(File);
  if (!Log)
    return Log.status();
  if (Status S = map(File, Log->signature()); !S)
    return S;
  for (;;) {
    Expected<const LogRecord *> R = Log->next();
    if (!R)
      return R.status();
    if (!*R)
      return Status();
    if (Status S = keep(**R); !S)
      return S;
  }
}

Status RecordedDecisions::keep(const LogRecord &R) {
  auto Of = Contexts.find(R.Context);
  if (Of == Contexts.end())
    Of = Contexts.try_emplace(std::string(R.Context)).first;
  size_t Place = Size;
  if (CompareFeatures)
    for (size_t I : InputMap)
      if (Status S = keep(R.Features[I]); !S)
        return S;
  for (size_t I : OutputMap)
    if (Status S = keep(R.Decision[I]); !S)
      return S;
  if (hasKeys()) {
    std::string Key;
    for (size_t I : InputMap)
      addToKey(Key, R.Features[I]);
    Of->second.ByKey.insert_or_assign(std::move(Key), Place);
    return Status();
  }
  Of->second.ByOrdinal.emplace(R.Ordinal, Place);
  return Status();
}

/// Extents, size and elements, in whole words.
Status RecordedDecisions::keep(const TensorView &V) {
  size_t Words = V.Extents.size() + 1 + toWords(V.Data.size());
  if (Size + Words * WordSize > Tensors.capacity() &&
      !Tensors.reserve(2 * Size + Words * WordSize, Size))
    return Status::error(StatusCode::OutOfMemory,
                         Path + ": no memory for so large a log");
  unsigned char *To = Tensors.data() + Size;
  for (int64_t Extent : V.Extents) {
    std::memcpy(To, &Extent, WordSize);
    To += WordSize;
  }
  uint64_t Bytes = V.Data.size();
  std::memcpy(To, &Bytes, WordSize);
  if (Bytes)
    std::memcpy(To + WordSize, V.Data.data(), Bytes);
  Size += Words * WordSize;
  return Status();
}

TensorView RecordedDecisions::view(size_t &Place,
                                   const TensorSpec &Spec) const {
  const unsigned char *At = Tensors.data() + Place;
  size_t Rank = Spec.shape().size();
  uint64_t Bytes;
  std::memcpy(&Bytes, At + Rank * WordSize, WordSize);
  Place += (Rank + 1 + toWords(Bytes)) * WordSize;
  return {&Spec,
          {reinterpret_cast<const int64_t *>(At), Rank},
          {At + (Rank + 1) * WordSize, Bytes}};
}

const RecordedDecisions::Context *
RecordedDecisions::find(std::string_view Name) const {
  auto Found = Contexts.find(Name);
  return Found == Contexts.end() ? nullptr : &Found->second;
}

Status RecordedDecisions::decide(std::string_view Name, const Context &In,
                                 uint64_t Ordinal, const TensorStorage &Inputs,
                                 TensorStorage &Outputs) const {
  auto Refuse = [&](const std::string &Why) {
    return Status::error(StatusCode::PeerError,
                         Path + ": " + whichDecision(Name, Ordinal) + Why);
  };
  auto [First, Last] = In.ByOrdinal.equal_range(Ordinal);
  if (First == Last)
    return Refuse(" is not in the log");
  std::string Difference;
  for (auto Each = First; Each != Last; ++Each) {
    size_t Place = Each->second;
    std::string Here;
    if (CompareFeatures)
      for (size_t I = 0; I < Sig.inputs().size(); ++I) {
        TensorView Recorded = view(Place, Sig.inputs()[I]);
        std::string Why =
            tensorDifference(Inputs.view(I), Recorded, "in the log");
        if (Here.empty() && !Why.empty())
          Here = ": feature '" + Sig.inputs()[I].name() + "' differs: " + Why;
      }
    if (!Here.empty()) {
      Difference = Difference.empty() ? Here : Difference;
      continue;
    }
    if (!CompareFeatures && std::next(First) != Last)
      return Refuse(" is in several logs, which only features tell apart");
    for (size_t O = 0; O < Sig.outputs().size(); ++O)
      if (Status S = Outputs.assign(O, view(Place, Sig.outputs()[O])); !S)
        return S;
    return Status();
  }
  return Refuse(Difference);
}

Status RecordedDecisions::decideByKey(std::string_view Name,
                                      const TensorStorage &Inputs,
                                      TensorStorage &Outputs) const {
  std::string Key;
  for (size_t I : KeyInputs)
    addToKey(Key, Inputs.view(I));
  const Context *In = find(Name);
  auto Found = In ? In->ByKey.find(Key) : decltype(In->ByKey.end())();
  if (!In || Found == In->ByKey.end())
    return Status::error(StatusCode::Abstained,
                         Path + ": no record of context '" + std::string(Name) +
                             "' has these keys");
  size_t Place = Found->second;
  for (size_t O = 0; O < Sig.outputs().size(); ++O)
    if (Status S = Outputs.assign(O, view(Place, Sig.outputs()[O])); !S)
      return S;
  return Status();
}

} // namespace cbridge
