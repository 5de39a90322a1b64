//===- OnnxEngine.cpp - A runner's tensors, bound to a session ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/OnnxEngine.h"

#include "engine/onnx/OrtTensors.h"

#include <algorithm>

namespace cbridge::onnx {

OnnxEngine::OnnxEngine(std::shared_ptr<const OnnxModel> Of)
    : BufferedEngine(Of->pass()), Model(std::move(Of)), Ort(Model->ort()),
      Api(Ort.api()) {}

Status OnnxEngine::prepare() {
  auto NewBinding =
      ortMake<OrtIoBinding>(Ort, Api.ReleaseIoBinding, [&](OrtIoBinding **To) {
        return Api.CreateIoBinding(Model->session(), To);
      });
  if (!NewBinding)
    return NewBinding.status();
  Binding = std::move(*NewBinding);
  auto NewOptions =
      ortMake<OrtRunOptions>(Ort, Api.ReleaseRunOptions, Api.CreateRunOptions);
  if (!NewOptions)
    return NewOptions.status();
  RunOptions = std::move(*NewOptions);
  if (Status S = Ort.check(Api.RunOptionsSetRunLogSeverityLevel(
          RunOptions.get(), ORT_LOGGING_LEVEL_FATAL));
      !S)
    return S;
  if (Status S = Ort.check(Api.GetAllocatorWithDefaultOptions(&Allocator)); !S)
    return S;
  return prepareTensors();
}

Status OnnxEngine::prepareTensors() {
  const std::vector<TensorSpec> &Wanted = Model->graph().inputs();
  BoundTo.assign(Inputs.size(), NotBound);
  InputValues.resize(Wanted.size());
  for (size_t I = 0; I < Wanted.size(); ++I) {
    size_t Feature = Model->fit().Inputs[I];
    BoundTo[Feature] = I;
    if (!Inputs.spec(Feature).isFixed())
      Stale.push_back(I); // filled later, or empty
    else if (Status S = bindInput(I); !S)
      return S;
  }
  OutputValues.resize(Outputs.size());
  Extents.resize(Outputs.size());
  for (size_t I = 0; I < Outputs.size(); ++I) {
    Views.push_back(Outputs.view(I));
    AnyDynamic |= !isBound(I);
    if (isBound(I))
      if (Status S = bindOutput(I); !S)
        return S;
  }
  return Status();
}

/// Outputs of other kinds get memory of ONNX Runtime's in each run.
bool OnnxEngine::isBound(size_t I) const { return Outputs.spec(I).isFixed(); }

/// A tensor of ONNX Runtime's over memory of ours, with the rank that the graph
/// has.
Expected<OrtOwned<OrtValue>> OnnxEngine::valueOver(const TensorView &V,
                                                   size_t Rank) {
  int64_t Aligned[MaxRank];
  alignExtents(V.Extents, {Aligned, Rank});
  // It must not be null, even if it is empty.
  static unsigned char Nothing[64];
  auto *Data = const_cast<unsigned char *>(V.Data.data());
  return ortMake<OrtValue>(Ort, Api.ReleaseValue, [&](OrtValue **To) {
    return Api.CreateTensorWithDataAsOrtValue(
        Model->memory(), V.Data.empty() ? Nothing : Data, V.Data.size(),
        Aligned, Rank, toOrt(V.Spec->type()), To);
  });
}

Expected<OrtOwned<OrtValue>> OnnxEngine::stringValue(const TensorView &V,
                                                     size_t Rank) {
  int64_t Aligned[MaxRank];
  alignExtents(V.Extents, {Aligned, Rank});
  auto Made = ortMake<OrtValue>(Ort, Api.ReleaseValue, [&](OrtValue **To) {
    return Api.CreateTensorAsOrtValue(Allocator, Aligned, Rank,
                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, To);
  });
  if (!Made)
    return Made;
  // It takes C strings: what is behind a NUL would be lost.
  std::string Text;
  for (size_t I = 0; I < V.elementCount(); ++I) {
    Text = V.string(I);
    if (Text.find('\0') != Text.npos)
      return Status::error(StatusCode::Unsupported,
                           "input '" + V.Spec->name() +
                               "': ONNX Runtime takes no NUL in a string");
    if (Status S = Ort.check(
            Api.FillStringTensorElement(Made->get(), Text.c_str(), I));
        !S)
      return S;
  }
  return Made;
}

Status OnnxEngine::bindInput(size_t I) {
  const TensorSpec &Wanted = Model->graph().inputs()[I];
  TensorView V = Inputs.view(Model->fit().Inputs[I]);
  // Extents that the pass may choose and the model may not.
  if (Status S = checkAligned(V.Extents, Wanted); !S)
    return S.withContext(Model->file());
  size_t Rank = Wanted.shape().size();
  auto Value = V.Spec->isString() ? stringValue(V, Rank) : valueOver(V, Rank);
  if (!Value)
    return Value.status();
  if (Status S = Ort.check(
          Api.BindInput(Binding.get(), Wanted.name().c_str(), Value->get()));
      !S)
    return S;
  InputValues[I] = std::move(*Value);
  return Status();
}

Status OnnxEngine::bindOutput(size_t I) {
  const TensorSpec &Given = Model->graph().outputs()[Model->fit().Outputs[I]];
  if (!isBound(I))
    return Ort.check(Api.BindOutputToDevice(Binding.get(), Given.name().c_str(),
                                            Model->memory()));
  auto Value = valueOver(Outputs.view(I), Given.shape().size());
  if (!Value)
    return Value.status();
  if (Status S = Ort.check(
          Api.BindOutput(Binding.get(), Given.name().c_str(), Value->get()));
      !S)
    return S;
  OutputValues[I] = std::move(*Value);
  return Status();
}

Status OnnxEngine::checkAligned(Span<const int64_t> From,
                                const TensorSpec &Wanted) {
  int64_t Aligned[MaxRank];
  Span<int64_t> To(Aligned, Wanted.shape().size());
  alignExtents(From, To);
  Expected<size_t> Before = elementCount(From), After = elementCount(To);
  Status S = Wanted.checkExtents(To);
  if (S.ok() && (!Before || !After || *Before != *After))
    S = Status::error(StatusCode::ShapeMismatch,
                      "'" + Wanted.name() + "' has other extents");
  return S;
}

Status OnnxEngine::resize(size_t I, Span<const int64_t> To) {
  if (Status S = Inputs.resize(I, To); !S)
    return S;
  if (!Inputs.spec(I).isFixed())
    markStale(I);
  return Status();
}

Status OnnxEngine::setStrings(size_t I, Span<const std::string_view> Values,
                              Span<const int64_t> To) {
  if (Status S = Inputs.setStrings(I, Values, To); !S)
    return S;
  markStale(I);
  return Status();
}

void OnnxEngine::markStale(size_t Feature) {
  size_t I = BoundTo[Feature];
  if (I != NotBound && std::find(Stale.begin(), Stale.end(), I) == Stale.end())
    Stale.push_back(I);
}

Status OnnxEngine::run(const Call &) {
  while (!Stale.empty()) {
    if (Status S = bindInput(Stale.back()); !S)
      return S;
    Stale.pop_back();
  }
  // What the last run has left there would be taken for memory to use again.
  if (AnyDynamic)
    for (size_t I = 0; I < Outputs.size(); ++I)
      if (Status S = isBound(I) ? Status() : bindOutput(I); !S)
        return S;
  if (Status S = Ort.check(Api.RunWithBinding(Model->session(),
                                              RunOptions.get(), Binding.get()));
      !S)
    return S.withContext(Model->file());
  return AnyDynamic ? fetchOutputs() : Status();
}

Status OnnxEngine::fetchOutputs() {
  OrtValue **Values = nullptr;
  size_t Count = 0;
  if (Status S = Ort.check(
          Api.GetBoundOutputValues(Binding.get(), Allocator, &Values, &Count));
      !S)
    return S;
  // They come in the order in which they were bound first.
  std::vector<OrtOwned<OrtValue>> Held;
  for (size_t V = 0; V < Count; ++V)
    Held.emplace_back(Values[V], OrtRelease<OrtValue>{Api.ReleaseValue});
  Allocator->Free(Allocator, static_cast<void *>(Values));
  size_t Next = 0;
  for (bool Fixed : {true, false})
    for (size_t I = 0; I < Outputs.size(); ++I) {
      if (isBound(I) != Fixed)
        continue;
      if (Next == Held.size())
        return Status::error(StatusCode::ModelError,
                             Model->file() + ": an output is missing");
      if (Status S = Fixed ? Status() : take(I, std::move(Held[Next])); !S)
        return S.withContext(Model->file() + ": output");
      ++Next;
    }
  return Status();
}

/// Makes Value the tensor of output I.
Status OnnxEngine::take(size_t I, OrtOwned<OrtValue> Value) {
  const TensorSpec &Spec = Outputs.spec(I);
  auto Info = ortMake<OrtTensorTypeAndShapeInfo>(
      Ort, Api.ReleaseTensorTypeAndShapeInfo,
      [&](OrtTensorTypeAndShapeInfo **To) {
        return Api.GetTensorTypeAndShape(Value.get(), To);
      });
  if (!Info)
    return Info.status();
  size_t Rank = 0;
  int64_t Theirs[64];
  if (Status S = Ort.check(Api.GetDimensionsCount(Info->get(), &Rank)); !S)
    return S;
  if (Rank > std::size(Theirs))
    return Status::error(StatusCode::ShapeMismatch,
                         "'" + Spec.name() + "' has too many extents");
  if (Status S = Ort.check(Api.GetDimensions(Info->get(), Theirs, Rank)); !S)
    return S;
  if (Status S = checkAligned({Theirs, Rank}, Spec); !S)
    return S;
  Span<int64_t> Ours(Extents[I].data(), Spec.shape().size());
  alignExtents({Theirs, Rank}, Ours);
  size_t Count = *elementCount(Ours);
  if (!Spec.isString() &&
      Count > TensorStorage::MaxTensorBytes / sizeOf(Spec.type()))
    return Status::error(StatusCode::OutOfMemory,
                         "'" + Spec.name() + "' is too large");
  if (Spec.isString())
    return takeStrings(I, *Value, Ours, Count);
  void *Data = nullptr;
  if (Status S = Ort.check(Api.GetTensorMutableData(Value.get(), &Data)); !S)
    return S;
  Views[I] = {&Spec, Ours,
              Bytes(static_cast<const unsigned char *>(Data),
                    Count * sizeOf(Spec.type()))};
  OutputValues[I] = std::move(Value);
  return Status();
}

Status OnnxEngine::takeStrings(size_t I, const OrtValue &Value,
                               Span<const int64_t> To, size_t Count) {
  std::vector<std::string> Texts(Count);
  std::vector<std::string_view> Seen;
  for (size_t E = 0; E < Count; ++E) {
    size_t Size = 0;
    if (Status S =
            Ort.check(Api.GetStringTensorElementLength(&Value, E, &Size));
        !S)
      return S;
    Texts[E].resize(Size);
    if (Status S = Ort.check(
            Api.GetStringTensorElement(&Value, Size, E, Texts[E].data()));
        !S)
      return S;
    Seen.push_back(Texts[E]);
  }
  if (Status S = Outputs.setStrings(I, Seen, To); !S)
    return S;
  Views[I] = Outputs.view(I);
  return Status();
}

} // namespace cbridge::onnx
