//===- Log.cpp - Training logs as columns ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

#include <cbridge/TrainingLog.h>

#include <limits>
#include <map>

namespace cbridge::python {

namespace {

/// The values of one tensor in all decisions, one behind the other.
struct Column {
  explicit Column(TensorSpec Of) : Spec(std::move(Of)) {}

  void add(const TensorView &V) {
    Elements.insert(Elements.end(), V.Data.begin(), V.Data.end());
    if (Spec.isFixed())
      return;
    // Strings have their offsets in front: keep those aligned.
    Elements.resize((Elements.size() + 7) / 8 * 8);
    Extents.insert(Extents.end(), V.Extents.begin(), V.Extents.end());
    Ends.push_back(Elements.size());
    Sizes.push_back(V.Data.size());
  }

  TensorSpec Spec;
  std::vector<unsigned char> Elements;
  // Of tensors that are not fixed:
  std::vector<int64_t> Extents;
  std::vector<size_t> Ends, Sizes;
};

/// The decisions of one or several logs, by columns.
class Table {
public:
  void add(const std::string &Path) {
    Expected<LogReader> Log = LogReader::open(Path);
    if (!Log && Log.status().code() == StatusCode::Unavailable) {
      Cut.push_back(Path);
      return;
    }
    LogReader Reader = take(std::move(Log));
    describe(Reader);
    for (const LogRecord *R; (R = take(Reader.next()));)
      add(*R);
    if (Reader.cut())
      Cut.push_back(Path);
  }

  std::optional<Signature> Sig;
  std::vector<std::string> Contexts, Cut;
  std::vector<Column> Columns; // features, then the decision
  std::vector<int64_t> ContextIndex, Ordinals;
  std::vector<double> Rewards;

private:
  void describe(const LogReader &Log) {
    if (Sig && *Sig != Log.signature())
      raise(PyExc_ValueError,
            Log.path() + " has other tensors than the logs beside it");
    if (Sig)
      return;
    Sig = Log.signature();
    for (const auto *Side : {&Sig->inputs(), &Sig->outputs()})
      for (const TensorSpec &Spec : *Side)
        Columns.emplace_back(Spec);
  }
  void add(const LogRecord &R) {
    auto Known = Indices.find(R.Context);
    if (Known == Indices.end()) {
      Known = Indices.emplace(R.Context, int64_t(Contexts.size())).first;
      Contexts.emplace_back(R.Context);
    }
    ContextIndex.push_back(Known->second);
    Ordinals.push_back(int64_t(R.Ordinal));
    Rewards.push_back(
        R.Reward.value_or(std::numeric_limits<double>::quiet_NaN()));
    size_t I = 0;
    for (const TensorView &V : R.Features)
      Columns[I++].add(V);
    for (const TensorView &V : R.Decision)
      Columns[I++].add(V);
  }

  std::map<std::string, int64_t, std::less<>> Indices;
};

/// A NumPy array that owns Values.
template <typename T>
nb::object vectorArray(std::vector<T> Values, const TensorSpec &Spec,
                       std::vector<int64_t> Extents) {
  auto *Kept = new std::vector<T>(std::move(Values));
  nb::capsule Owner(
      Kept, [](void *P) noexcept { delete static_cast<std::vector<T> *>(P); });
  return toPython({&Spec,
                   Extents,
                   {reinterpret_cast<const unsigned char *>(Kept->data()),
                    Kept->size() * sizeof(T)}},
                  Owner);
}

/// (n, *shape) for a fixed tensor, else a list of n.
nb::object columnValues(Column C, size_t Count) {
  if (C.Spec.isFixed()) {
    std::vector<int64_t> Extents = {int64_t(Count)};
    Extents.insert(Extents.end(), C.Spec.shape().begin(), C.Spec.shape().end());
    return vectorArray(std::move(C.Elements), C.Spec, std::move(Extents));
  }
  auto *Kept = new Column(std::move(C));
  nb::capsule Owner(Kept,
                    [](void *P) noexcept { delete static_cast<Column *>(P); });
  size_t Rank = Kept->Spec.shape().size();
  nb::list List;
  for (size_t I = 0, Begin = 0; I < Kept->Ends.size(); ++I) {
    TensorView V = {&Kept->Spec,
                    {Kept->Extents.data() + I * Rank, Rank},
                    {Kept->Elements.data() + Begin, Kept->Sizes[I]}};
    List.append(toPython(V, Owner));
    Begin = Kept->Ends[I];
  }
  return std::move(List);
}

nb::dict columns(Table &T, size_t First, size_t Last) {
  nb::dict Values;
  for (size_t I = First; I < Last; ++I) {
    nb::str Name = decode(T.Columns[I].Spec.name());
    Values[Name] = columnValues(std::move(T.Columns[I]), T.Ordinals.size());
  }
  return Values;
}

nb::list strings(const std::vector<std::string> &Texts) {
  nb::list List;
  for (const std::string &Text : Texts)
    List.append(decode(Text));
  return List;
}

nb::dict readLog(nb::str Path) {
  std::string Name = encode(Path);
  std::vector<std::string> Files = take(findLogs(Name));
  Table T;
  for (const std::string &File : Files)
    T.add(File);
  if (!T.Sig)
    raise(PyExc_ValueError, Name + ": there is no log with a decision");
  TensorSpec Index = TensorSpec::create<int64_t>("index"),
             Reward = TensorSpec::create<double>("reward");
  auto Count = int64_t(T.Ordinals.size());
  nb::dict Result;
  Result["inputs"] = fromSpecs(T.Sig->inputs());
  Result["outputs"] = fromSpecs(T.Sig->outputs());
  size_t Inputs = T.Sig->inputs().size();
  Result["features"] = columns(T, 0, Inputs);
  Result["decisions"] = columns(T, Inputs, T.Columns.size());
  Result["context_index"] =
      vectorArray(std::move(T.ContextIndex), Index, {Count});
  Result["ordinal"] = vectorArray(std::move(T.Ordinals), Index, {Count});
  Result["reward"] = vectorArray(std::move(T.Rewards), Reward, {Count});
  Result["contexts"] = strings(T.Contexts);
  Result["files"] = strings(Files);
  Result["cut"] = strings(T.Cut);
  return Result;
}

/// A writer and the memory for what it writes.
class PyLogWriter {
public:
  PyLogWriter(const std::string &Path, Signature Sig)
      : In(Sig.inputs()), Out(Sig.outputs()),
        Log(take(LogWriter::open(Path, std::move(Sig)))) {
    check(In.status());
    check(Out.status());
  }

  void write(nb::str Context, nb::dict Features, nb::dict Decision) {
    fill(In, Features, "feature");
    fill(Out, Decision, "decision");
    check(open().observe(encode(Context), In.views(), Out.views()));
  }
  void reward(double Value) { check(open().reward(Value)); }
  void close() {
    if (!Log)
      return;
    Status S = Log->finish();
    Log.reset();
    check(S);
  }

private:
  LogWriter &open() {
    if (!Log)
      raise(PyExc_ValueError, "the log is closed");
    return *Log;
  }
  static void fill(TensorStorage &To, nb::dict Values, const char *What) {
    for (size_t I = 0; I < To.size(); ++I) {
      const TensorSpec &Spec = To.spec(I);
      nb::str Name = decode(Spec.name());
      if (!Values.contains(Name))
        raise(PyExc_KeyError,
              std::string(What) + " '" + Spec.name() + "' is missing");
      assign(Values[Name], Spec, What,
             {[&](Span<const int64_t> E) { return To.resize(I, E); },
              [&] { return To.bytes(I); },
              [&](Span<const std::string_view> V, Span<const int64_t> E) {
                return To.setStrings(I, V, E);
              }});
    }
    if (size_t(nb::len(Values)) != To.size())
      raise(PyExc_KeyError,
            std::string("a ") + What +
                " that the signature does not have; there are " +
                std::to_string(To.size()));
  }

  TensorStorage In, Out;
  std::optional<LogWriter> Log;
};

} // namespace

void bindLog(nb::module_ &M) {
  M.def("read_log", readLog, nb::arg("path"));
  nb::class_<PyLogWriter>(M, "LogWriter")
      .def(
          "__init__",
          [](PyLogWriter *Self, nb::str Path, nb::handle Inputs,
             nb::handle Outputs) {
            new (Self) PyLogWriter(
                encode(Path), Signature(toSpecs(Inputs), toSpecs(Outputs)));
          },
          nb::arg("path"), nb::arg("inputs"), nb::arg("outputs"))
      .def("write", &PyLogWriter::write, nb::arg("context"),
           nb::arg("features"), nb::arg("decision"))
      .def("reward", &PyLogWriter::reward, nb::arg("value"))
      .def("close", &PyLogWriter::close);
}

} // namespace cbridge::python
