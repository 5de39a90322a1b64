//===- LogDiff.cpp - cbridge log diff -------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "log/TensorText.h"

#include <cbridge/TrainingLog.h>

#include <cstdio>
#include <cstring>
#include <tuple>

namespace cbridge::tool {

namespace {

/// A tensor that stays when the reader goes on.
struct KeptTensor {
  std::vector<int64_t> Extents;
  std::vector<uint64_t> Words; // aligned for any element
  size_t Size = 0;
};

struct KeptRecord {
  std::string Context;
  uint64_t Ordinal = 0;
  size_t Occurrence = 0; // of this ordinal: it may be in several files
  std::vector<KeptTensor> Tensors; // features, then the decision
};

using Key = std::tuple<std::string_view, uint64_t, size_t>;

/// The logs of one side.
struct Side {
  std::string Path;
  std::optional<Signature> Sig;
  std::vector<KeptRecord> Records;
  std::map<Key, size_t> ByKey;

  Status load();
  Status add(const std::string &File);
  Key keyOf(const KeptRecord &R) const {
    return {R.Context, R.Ordinal, R.Occurrence};
  }
  const TensorSpec &spec(size_t I) const {
    size_t Inputs = Sig->inputs().size();
    return I < Inputs ? Sig->inputs()[I] : Sig->outputs()[I - Inputs];
  }
  TensorView view(const KeptRecord &R, size_t I) const {
    const KeptTensor &T = R.Tensors[I];
    return {&spec(I),
            T.Extents,
            {reinterpret_cast<const unsigned char *>(T.Words.data()), T.Size}};
  }
};

Status Side::load() {
  Expected<std::vector<std::string>> Logs = findLogs(Path);
  if (!Logs)
    return Logs.status();
  for (const std::string &File : *Logs)
    if (Status S = add(File); !S && S.code() != StatusCode::Unavailable)
      return S;
  if (!Sig)
    return Status::error(StatusCode::Unavailable, Path + ": there is no log");
  // The keys point into the records, which move no more.
  for (size_t I = 0; I < Records.size(); ++I) {
    while (ByKey.count(keyOf(Records[I])))
      ++Records[I].Occurrence;
    ByKey.emplace(keyOf(Records[I]), I);
  }
  return Status();
}

Status Side::add(const std::string &File) {
  Expected<LogReader> Log = LogReader::open(File);
  if (!Log)
    return Log.status();
  if (Sig && *Sig != Log->signature())
    return Status::error(StatusCode::TypeMismatch,
                         File + " has other tensors than the logs beside it");
  Sig = Log->signature();
  for (;;) {
    Expected<const LogRecord *> R = Log->next();
    if (!R)
      return R.status();
    if (!*R)
      return Status();
    KeptRecord Kept;
    Kept.Context = (*R)->Context;
    Kept.Ordinal = (*R)->Ordinal;
    auto Keep = [&](const TensorView &V) {
      KeptTensor T;
      T.Extents.assign(V.Extents.begin(), V.Extents.end());
      T.Size = V.Data.size();
      T.Words.resize(T.Size / sizeof(uint64_t) + 1);
      if (T.Size)
        std::memcpy(T.Words.data(), V.Data.data(), T.Size);
      Kept.Tensors.push_back(std::move(T));
    };
    for (const TensorView &V : (*R)->Features)
      Keep(V);
    for (const TensorView &V : (*R)->Decision)
      Keep(V);
    Records.push_back(std::move(Kept));
  }
}

/// Whether both sides have the same tensors; prints the first that differ.
bool sameSignature(const Side &A, const Side &B) {
  auto Text = [](const TensorSpec &Spec) {
    return "'" + Spec.name() + "' " + Spec.typeAndShape();
  };
  auto Compare = [&](const char *What, const std::vector<TensorSpec> &InA,
                     const std::vector<TensorSpec> &InB) {
    for (size_t I = 0; I < InA.size() || I < InB.size(); ++I)
      if (I >= InA.size() || I >= InB.size() || InA[I] != InB[I]) {
        std::printf("%s %zu: %s | %s\n", What, I,
                    I < InA.size() ? Text(InA[I]).c_str() : "none",
                    I < InB.size() ? Text(InB[I]).c_str() : "none");
        return false;
      }
    return true;
  };
  return Compare("feature", A.Sig->inputs(), B.Sig->inputs()) &&
         Compare("decision", A.Sig->outputs(), B.Sig->outputs());
}

void printPlace(const KeptRecord &R, const char *What) {
  std::printf("context '%s', decision %llu%s\n", R.Context.c_str(),
              static_cast<unsigned long long>(R.Ordinal), What);
}

/// Whether the records are the same; prints them if not.
bool same(const Side &A, const KeptRecord &InA, const Side &B,
          const KeptRecord &InB) {
  bool Same = true;
  std::vector<std::string> Why;
  for (size_t I = 0; I < InA.Tensors.size(); ++I) {
    Why.push_back(
        tensorDifference(A.view(InA, I), B.view(InB, I), "in the second log"));
    Same &= Why.back().empty();
  }
  if (Same)
    return true;
  printPlace(InA, " differs");
  size_t Inputs = A.Sig->inputs().size();
  auto Print = [&](size_t I) {
    std::printf("%s %s%s = %s", Why[I].empty() ? " " : "*",
                I < Inputs ? "" : "-> ", A.spec(I).name().c_str(),
                tensorText(A.view(InA, I)).c_str());
    if (!Why[I].empty())
      std::printf(" | %s (%s)", tensorText(B.view(InB, I)).c_str(),
                  Why[I].c_str());
    std::printf("\n");
  };
  for (size_t I = Inputs; I < InA.Tensors.size(); ++I)
    Print(I);
  for (size_t I = 0; I < Inputs; ++I)
    Print(I);
  return false;
}

} // namespace

int logDiff(Span<const std::string> Given) {
  Expected<Arguments> Parsed = Arguments::parse(Given, {});
  if (!Parsed)
    return fail(Parsed.status());
  if (Parsed->Words.size() != 2)
    return fail("log diff takes two logs or directories");
  Side A, B;
  A.Path = Parsed->Words[0];
  B.Path = Parsed->Words[1];
  for (Side *Each : {&A, &B})
    if (Status S = Each->load(); !S)
      return fail(S);
  if (!sameSignature(A, B))
    return Different;
  for (const KeptRecord &R : A.Records) {
    auto Found = B.ByKey.find(A.keyOf(R));
    if (Found == B.ByKey.end()) {
      printPlace(R, (" is not in " + B.Path).c_str());
      return Different;
    }
    if (!same(A, R, B, B.Records[Found->second]))
      return Different;
  }
  for (const KeptRecord &R : B.Records)
    if (!A.ByKey.count(B.keyOf(R))) {
      printPlace(R, (" is not in " + A.Path).c_str());
      return Different;
    }
  return Success;
}

} // namespace cbridge::tool
