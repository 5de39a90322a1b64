//===- TfliteInterpreter.cpp - A model and its interpreters ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All calls of TFLite, which is C++ and may throw when memory is short. This
// file alone is compiled with exceptions.
//
//===----------------------------------------------------------------------===//
#include "engine/tflite/TfliteInterpreter.h"

#include "engine/SignatureFit.h"
#include "engine/tflite/TfliteCheck.h"
#include "os/ReadFile.h"

#include <climits>
#include <cstdio>
#include <exception>

namespace cbridge {

namespace {

/// FlatBuffers count with 32 bits, and a sign.
constexpr size_t MaxModel = INT_MAX;
constexpr size_t MaxText = 1000;

/// Calls F; what it throws becomes Otherwise.
template <typename Callable, typename Result>
Result guarded(TfliteSaid &Said, Callable F, Result Otherwise) {
  try {
    return F();
  } catch (const std::exception &E) {
    Said.Text = E.what();
  } catch (...) {
    Said.Text = "an exception";
  }
  return Otherwise;
}

/// Of TFLite's type; none for those that passes do not have.
std::optional<ElementType> elementType(int Type) {
  switch (Type) {
  case 1:
    return ElementType::Float;
  case 2:
    return ElementType::Int32;
  case 3:
    return ElementType::UInt8;
  case 4:
    return ElementType::Int64;
  case 6:
    return ElementType::Bool;
  case 7:
    return ElementType::Int16;
  case 9:
    return ElementType::Int8;
  case 11:
    return ElementType::Double;
  case 13:
    return ElementType::UInt64;
  case 16:
    return ElementType::UInt32;
  case 17:
    return ElementType::UInt16;
  default:
    return std::nullopt;
  }
}

std::string typeName(int Type) {
  switch (Type) {
  case 5:
    return "strings";
  case 8:
  case 12:
    return "complex numbers";
  case 10:
  case 19:
    return "16-bit floats";
  default:
    return "elements of TFLite's type " + std::to_string(Type);
  }
}

} // namespace

void TfliteSaid::tell(void *To, const char *Format, va_list Arguments) {
  std::string &Text = static_cast<TfliteSaid *>(To)->Text;
  if (Text.size() > MaxText)
    return;
  char Part[512];
  std::vsnprintf(Part, sizeof(Part), Format, Arguments);
  Text += (Text.empty() ? "" : "; ") + std::string(Part);
}

Status TfliteSaid::failure(StatusCode Code, const std::string &File,
                           const char *What) {
  std::string Message = File + ": " + What;
  if (!Text.empty())
    Message += ": " + Text;
  Text.clear();
  while (!Message.empty() && Message.back() == '\n')
    Message.pop_back();
  return Status::error(Code, std::move(Message));
}

Expected<std::shared_ptr<const TfliteModel>>
TfliteModel::load(const std::string &File) {
  // First, since without the file no library is of use.
  Expected<os::FileContent> Content = os::readFile(File, MaxModel);
  if (!Content)
    return Content.status();
  Expected<const TfliteLibrary *> Api = TfliteLibrary::get();
  if (!Api)
    return Api.status();
  std::shared_ptr<TfliteModel> Made(new TfliteModel(**Api, File));
  Made->Content = std::move(*Content);
  Bytes Data = Made->Content->bytes();
  TfliteSaid Said;
  Made->Handle = guarded(
      Said,
      [&] {
        return (*Api)->ModelCreateWithErrorReporter(Data.data(), Data.size(),
                                                    TfliteSaid::tell, &Said);
      },
      static_cast<TfLiteModel *>(nullptr));
  if (!Made->Handle)
    return Said.failure(StatusCode::Protocol, File, "no valid TFLite model");
  if (Status S = checkTflite(Data); !S)
    return S.withContext(File);
  return std::shared_ptr<const TfliteModel>(std::move(Made));
}

TfliteModel::~TfliteModel() {
  if (Handle)
    Api.ModelDelete(Handle);
}

Expected<std::unique_ptr<TfliteInterpreter>>
TfliteInterpreter::create(std::shared_ptr<const TfliteModel> Of) {
  std::unique_ptr<TfliteInterpreter> Made(new TfliteInterpreter(std::move(Of)));
  const TfliteLibrary &Api = Made->Api;
  Made->Handle = guarded(
      Made->Said,
      [&] {
        TfLiteInterpreterOptions *Options = Api.InterpreterOptionsCreate();
        Api.InterpreterOptionsSetNumThreads(Options, 1);
        Api.InterpreterOptionsSetErrorReporter(Options, TfliteSaid::tell,
                                               &Made->Said);
        TfLiteInterpreter *I = Api.InterpreterCreate(Made->Of->get(), Options);
        Api.InterpreterOptionsDelete(Options);
        return I;
      },
      static_cast<TfLiteInterpreter *>(nullptr));
  if (!Made->Handle)
    return Made->failed(StatusCode::Unsupported, "cannot be interpreted");
  if (Status S = Made->allocate(); !S)
    return S;
  return Made;
}

TfliteInterpreter::~TfliteInterpreter() {
  if (Handle)
    Api.InterpreterDelete(Handle);
}

Expected<TensorSpec> TfliteInterpreter::describe(const TfLiteTensor *T,
                                                 const char *Side,
                                                 size_t I) const {
  const char *Name = T ? Api.TensorName(T) : nullptr;
  if (!Name || !*Name)
    return Status::error(StatusCode::Protocol, Of->File + ": " + Side + " " +
                                                   std::to_string(I) +
                                                   " is no tensor with a name");
  std::string Who = Of->File + ": " + Side + " '" + Name + "'";
  std::optional<ElementType> Type = elementType(Api.TensorType(T));
  if (!Type)
    return Status::error(StatusCode::Unsupported,
                         Who + " has " + typeName(Api.TensorType(T)) +
                             ", which tflite: cannot pass on");
  int32_t Rank = Api.TensorNumDims(T);
  if (Rank < 0 || Rank > int32_t(MaxRank))
    return Status::error(StatusCode::Unsupported,
                         Who + " has " + std::to_string(Rank) + " extents");
  const TfLiteIntArray *Varying =
      Api.TensorGetDimsSignature ? Api.TensorGetDimsSignature(T) : nullptr;
  if (Varying && Varying->Size != Rank)
    Varying = nullptr;
  std::vector<int64_t> Shape;
  for (int32_t D = 0; D < Rank; ++D)
    Shape.push_back(Varying && Varying->Data[D] == -1 ? Dynamic
                                                      : Api.TensorDim(T, D));
  TensorSpec Spec(Name, *Type, std::move(Shape));
  if (Status S = Spec.validate(); !S)
    return Status::error(StatusCode::Protocol, Who + ": " + S.message());
  return Spec;
}

Expected<std::vector<TensorSpec>> TfliteInterpreter::inputs() const {
  std::vector<TensorSpec> Specs;
  int32_t Count = Api.InterpreterGetInputTensorCount(Handle);
  for (int32_t I = 0; I < Count; ++I) {
    Expected<TensorSpec> Spec =
        describe(Api.InterpreterGetInputTensor(Handle, I), "input", size_t(I));
    if (!Spec)
      return Spec.status();
    Specs.push_back(std::move(*Spec));
  }
  return Specs;
}

Expected<size_t>
TfliteInterpreter::findOutput(const OutputSpec &Wanted,
                              const std::string &SpecFile) const {
  std::string Ported = Wanted.Tensor + ":" + std::to_string(Wanted.Port);
  std::string Names;
  std::optional<size_t> Found;
  int32_t Count = Api.InterpreterGetOutputTensorCount(Handle);
  for (int32_t I = 0; I < Count; ++I) {
    const TfLiteTensor *T = Api.InterpreterGetOutputTensor(Handle, I);
    const char *Name = T ? Api.TensorName(T) : nullptr;
    if (!Name)
      continue;
    Names += (Names.empty() ? "'" : ", '") + std::string(Name) + "'";
    if (Ported == Name || (!Found && Wanted.Port == 0 && Wanted.Tensor == Name))
      Found = size_t(I);
  }
  std::string Who = SpecFile + ": '" + Wanted.Spec.name() + "'";
  if (!Found)
    return Status::error(StatusCode::Unsupported,
                         Who + " is tensor '" + Ported + "'; the outputs of " +
                             Of->File + " are " +
                             (Names.empty() ? "none" : Names));
  const TfLiteTensor *T =
      Api.InterpreterGetOutputTensor(Handle, int32_t(*Found));
  Expected<TensorSpec> Spec = describe(T, "output", *Found);
  if (!Spec)
    return Spec.status();
  // What has no memory yet gets its shape when the model runs.
  bool Known = Api.TensorData(T) != nullptr;
  bool SameType = Spec->type() == Wanted.Spec.type();
  if (!SameType || (Known && !shapesFit(Spec->shape(), Wanted.Spec.shape())))
    return Status::error(
        SameType ? StatusCode::ShapeMismatch : StatusCode::TypeMismatch,
        Who + " is " + Wanted.Spec.typeAndShape() + "; tensor '" +
            Spec->name() + "' of " + Of->File + " is " + Spec->typeAndShape());
  return *Found;
}

Status TfliteInterpreter::setExtents(size_t I, Span<const int64_t> Extents) {
  const TfLiteTensor *T = Api.InterpreterGetInputTensor(Handle, int32_t(I));
  int Wanted[MaxRank];
  bool Same = true;
  for (size_t D = 0; D < Extents.size(); ++D) {
    if (Extents[D] > INT_MAX)
      return Status::error(StatusCode::ShapeMismatch,
                           Of->File + ": an extent of " +
                               std::to_string(Extents[D]) + " is too large");
    Wanted[D] = int(Extents[D]);
    Same &= Api.TensorDim(T, int32_t(D)) == Wanted[D];
  }
  if (Same)
    return Status();
  Allocated = false;
  int Failed = guarded(
      Said,
      [&] {
        return Api.InterpreterResizeInputTensor(Handle, int32_t(I), Wanted,
                                                int32_t(Extents.size()));
      },
      1);
  return Failed ? failed(StatusCode::ShapeMismatch, "cannot be resized")
                : Status();
}

Status TfliteInterpreter::allocate() {
  if (Allocated)
    return Status();
  int Failed =
      guarded(Said, [&] { return Api.InterpreterAllocateTensors(Handle); }, 1);
  if (Failed)
    return failed(StatusCode::Unsupported, "cannot be prepared");
  Allocated = true;
  return Status();
}

Status TfliteInterpreter::setInput(size_t I, Bytes From) {
  const TfLiteTensor *T = Api.InterpreterGetInputTensor(Handle, int32_t(I));
  if (From.empty())
    return Status();
  if (Api.TensorByteSize(T) != From.size() || !Api.TensorData(T))
    return Status::error(StatusCode::ShapeMismatch,
                         Of->File + ": input '" + Api.TensorName(T) + "' has " +
                             std::to_string(Api.TensorByteSize(T)) +
                             " bytes, not " + std::to_string(From.size()));
  std::memcpy(Api.TensorData(T), From.data(), From.size());
  return Status();
}

Status TfliteInterpreter::invoke() {
  int Failed = guarded(Said, [&] { return Api.InterpreterInvoke(Handle); }, 1);
  return Failed ? failed(StatusCode::ModelError, "failed") : Status();
}

Expected<Bytes> TfliteInterpreter::output(size_t I, ElementType Type,
                                          int64_t (&To)[MaxRank],
                                          size_t &Rank) const {
  const TfLiteTensor *T = Api.InterpreterGetOutputTensor(Handle, int32_t(I));
  int32_t Count = Api.TensorNumDims(T);
  auto *Data = static_cast<const unsigned char *>(Api.TensorData(T));
  size_t Size = Api.TensorByteSize(T);
  if (Count < 0 || Count > int32_t(MaxRank) || (!Data && Size) ||
      elementType(Api.TensorType(T)) != Type)
    return Status::error(StatusCode::ShapeMismatch,
                         Of->File + ": output '" + Api.TensorName(T) +
                             "' came without elements");
  Rank = size_t(Count);
  for (size_t D = 0; D < Rank; ++D)
    To[D] = Api.TensorDim(T, int32_t(D));
  return Bytes(Data, Data ? Size : 0);
}

} // namespace cbridge
