//===- FieldCopy.cpp - Elements to and from fields ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/FieldCopy.h"

#include "core/ForElementType.h"
#include "modules/grpc/Wire.h"

#include <google/protobuf/reflection.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstring>
#include <limits>

namespace cbridge {

namespace pb = google::protobuf;

namespace {

template <typename T>
void setOne(const pb::Reflection &R, pb::Message &M, Field F, T Value) {
  if constexpr (std::is_same_v<T, bool>)
    R.SetBool(&M, F, Value);
  else if constexpr (std::is_same_v<T, int32_t>)
    R.SetInt32(&M, F, Value);
  else if constexpr (std::is_same_v<T, int64_t>)
    R.SetInt64(&M, F, Value);
  else if constexpr (std::is_same_v<T, uint32_t>)
    R.SetUInt32(&M, F, Value);
  else if constexpr (std::is_same_v<T, uint64_t>)
    R.SetUInt64(&M, F, Value);
  else if constexpr (std::is_same_v<T, float>)
    R.SetFloat(&M, F, Value);
  else
    R.SetDouble(&M, F, Value);
}

template <typename T>
T getOne(const pb::Reflection &R, const pb::Message &M, Field F) {
  if constexpr (std::is_same_v<T, bool>)
    return R.GetBool(M, F);
  else if constexpr (std::is_same_v<T, int32_t>)
    return R.GetInt32(M, F);
  else if constexpr (std::is_same_v<T, int64_t>)
    return R.GetInt64(M, F);
  else if constexpr (std::is_same_v<T, uint32_t>)
    return R.GetUInt32(M, F);
  else if constexpr (std::is_same_v<T, uint64_t>)
    return R.GetUInt64(M, F);
  else if constexpr (std::is_same_v<T, float>)
    return R.GetFloat(M, F);
  else
    return R.GetDouble(M, F);
}

/// The types that fields have.
template <typename T> constexpr bool isFieldType() {
  return std::is_same_v<T, bool> || std::is_floating_point_v<T> ||
         sizeof(T) >= 4;
}

template <typename T> T load(const unsigned char *From) {
  if constexpr (std::is_same_v<T, bool>) {
    return *From != 0;
  } else {
    T Value;
    std::memcpy(&Value, From, sizeof(T));
    return Value;
  }
}

template <typename T> void store(unsigned char *To, T Value) {
  std::memcpy(To, &Value, sizeof(T));
}

/// Calls Copy(Element(), FieldElement()) for types that fit in that direction.
template <typename Callable>
void forTypes(ElementType Element, ElementType OfField, bool Sent,
              Callable Copy) {
  forElementType(OfField, [&](auto FieldTag) {
    using Theirs = decltype(FieldTag);
    forElementType(Element, [&](auto Tag) {
      using Ours = decltype(Tag);
      constexpr ElementType O = elementTypeOf<Ours>(),
                            T = elementTypeOf<Theirs>();
      if constexpr (isFieldType<Theirs>() && (fits(O, T) || fits(T, O)))
        if (Sent ? fits(O, T) : fits(T, O))
          Copy(Tag, FieldTag);
    });
  });
}

Status putEnums(pb::Message &To, const FieldBinding &B,
                const unsigned char *Data, size_t Count) {
  const pb::Reflection &R = *To.GetReflection();
  for (size_t I = 0; I < Count; ++I) {
    int64_t Value = forElementType(B.Spec.type(), [&](auto Tag) {
      return static_cast<int64_t>(
          load<decltype(Tag)>(Data + I * sizeof(decltype(Tag))));
    });
    bool Known = Value >= std::numeric_limits<int32_t>::min() &&
                 Value <= std::numeric_limits<int32_t>::max();
    if (Known && B.isClosed())
      Known = B.Leaf->enum_type()->FindValueByNumber(int(Value)) != nullptr;
    if (!Known)
      return B.error(StatusCode::TypeMismatch, std::to_string(Value) +
                                                   " is no value of enum " +
                                                   B.Leaf->enum_type()->name());
    if (B.Leaf->is_repeated())
      R.AddEnumValue(&To, B.Leaf, int(Value));
    else
      R.SetEnumValue(&To, B.Leaf, int(Value));
  }
  return Status();
}

Status putStrings(pb::Message &To, const FieldBinding &B, const TensorView &V,
                  size_t First, size_t Count) {
  const pb::Reflection &R = *To.GetReflection();
  for (size_t I = First; I < First + Count; ++I) {
    std::string_view Text = V.string(I);
    if (B.Leaf->type() == pb::FieldDescriptor::TYPE_STRING &&
        !wire::isUtf8(Text))
      return B.error(StatusCode::TypeMismatch,
                     "a string that is not UTF-8, which string '" + B.Path +
                         "' must be; bytes would hold it");
    if (B.Leaf->is_repeated())
      R.AddString(&To, B.Leaf, std::string(Text));
    else
      R.SetString(&To, B.Leaf, std::string(Text));
  }
  return Status();
}

/// A number that a closed enum does not know is kept as an unknown field.
Status checkEnum(const pb::Message &From, const FieldBinding &B) {
  const pb::UnknownFieldSet &Unknown =
      From.GetReflection()->GetUnknownFields(From);
  for (int I = 0; I < Unknown.field_count(); ++I)
    if (Unknown.field(I).number() == B.Leaf->number())
      return B.error(StatusCode::Protocol,
                     "a number that is no value of enum " +
                         B.Leaf->enum_type()->name());
  return Status();
}

} // namespace

Status putElements(pb::Message &To, const FieldBinding &B, const TensorView &V,
                   size_t First, size_t Count) {
  if (B.Spec.isString())
    return putStrings(To, B, V, First, Count);
  size_t Size = sizeOf(B.Spec.type());
  const unsigned char *Data = V.Data.data() + First * Size;
  const pb::Reflection &R = *To.GetReflection();
  if (B.isRaw()) {
    R.SetString(
        &To, B.Leaf,
        std::string(reinterpret_cast<const char *>(Data), Count * Size));
    return Status();
  }
  if (B.isEnum())
    return putEnums(To, B, Data, Count);
  forTypes(B.Spec.type(), elementTypeOf(B.Leaf), /*Sent=*/true,
           [&](auto Tag, auto FieldTag) {
             using Ours = decltype(Tag);
             using Theirs = decltype(FieldTag);
             if (!B.Leaf->is_repeated()) {
               setOne(R, To, B.Leaf, static_cast<Theirs>(load<Ours>(Data)));
               return;
             }
             auto Ref = R.GetMutableRepeatedFieldRef<Theirs>(&To, B.Leaf);
             for (size_t I = 0; I < Count; ++I)
               Ref.Add(static_cast<Theirs>(load<Ours>(Data + I * Size)));
           });
  return Status();
}

Expected<size_t> countElements(const pb::Message &From, const FieldBinding &B) {
  const pb::Reflection &R = *From.GetReflection();
  if (B.isClosed())
    if (Status S = checkEnum(From, B); !S)
      return S;
  if (B.Leaf->is_repeated())
    return size_t(R.FieldSize(From, B.Leaf));
  if (B.Leaf->has_presence() && !R.HasField(From, B.Leaf))
    return B.missing();
  if (!B.isRaw())
    return size_t(1);
  std::string Scratch;
  size_t Size = R.GetStringReference(From, B.Leaf, &Scratch).size();
  size_t Element = sizeOf(B.Spec.type());
  if (Size % Element)
    return B.error(StatusCode::ShapeMismatch,
                   std::to_string(Size) + " bytes are no number of " +
                       std::string(toString(B.Spec.type())));
  return Size / Element;
}

Status takeElements(const pb::Message &From, const FieldBinding &B,
                    unsigned char *To) {
  const pb::Reflection &R = *From.GetReflection();
  if (B.isRaw()) {
    std::string Scratch;
    const std::string &Raw = R.GetStringReference(From, B.Leaf, &Scratch);
    if (B.Spec.type() == ElementType::Bool)
      for (char Each : Raw)
        if (Each != 0 && Each != 1)
          return B.error(StatusCode::Protocol, "a bool that is not 0 or 1");
    if (!Raw.empty())
      std::memcpy(To, Raw.data(), Raw.size());
    return Status();
  }
  size_t Size = sizeOf(B.Spec.type());
  if (B.isEnum() && !B.Leaf->is_repeated()) {
    int Value = R.GetEnumValue(From, B.Leaf);
    if (Size == sizeof(int64_t))
      store(To, int64_t(Value));
    else
      store(To, int32_t(Value));
    return Status();
  }
  forTypes(B.Spec.type(), elementTypeOf(B.Leaf), /*Sent=*/false,
           [&](auto Tag, auto FieldTag) {
             using Ours = decltype(Tag);
             using Theirs = decltype(FieldTag);
             if (!B.Leaf->is_repeated()) {
               store(To, static_cast<Ours>(getOne<Theirs>(R, From, B.Leaf)));
               return;
             }
             auto Ref = R.GetRepeatedFieldRef<Theirs>(From, B.Leaf);
             unsigned char *At = To;
             for (int I = 0, N = Ref.size(); I < N; ++I, At += Size)
               store(At, static_cast<Ours>(Ref.Get(I)));
           });
  return Status();
}

Expected<std::string_view> takeString(const pb::Message &From,
                                      const FieldBinding &B, size_t I,
                                      std::string &Scratch) {
  const pb::Reflection &R = *From.GetReflection();
  std::string_view Text =
      B.Leaf->is_repeated()
          ? R.GetRepeatedStringReference(From, B.Leaf, int(I), &Scratch)
          : R.GetStringReference(From, B.Leaf, &Scratch);
  // proto2 does not look.
  if (B.Leaf->type() == pb::FieldDescriptor::TYPE_STRING && !wire::isUtf8(Text))
    return B.error(StatusCode::Protocol, "a string that is not UTF-8");
  return Text;
}

bool putNumber(pb::Message &To, Field F, uint64_t Value) {
  bool Held = false;
  forElementType(elementTypeOf(F), [&](auto Tag) {
    using T = decltype(Tag);
    if constexpr (isFieldType<T>() && std::is_integral_v<T> &&
                  !std::is_same_v<T, bool>) {
      Held = Value <= uint64_t(std::numeric_limits<T>::max());
      setOne(*To.GetReflection(), To, F, static_cast<T>(Held ? Value : 0));
    }
  });
  return Held;
}

void putRequired(pb::Message &To) {
  const pb::Reflection &R = *To.GetReflection();
  const pb::Descriptor *Type = To.GetDescriptor();
  for (int I = 0; I < Type->field_count(); ++I) {
    Field F = Type->field(I);
    if (!F->is_required())
      continue;
    if (F->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
      putRequired(*R.MutableMessage(&To, F));
    else if (R.HasField(To, F))
      continue;
    else if (F->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING)
      R.SetString(&To, F, F->default_value_string());
    else if (F->cpp_type() == pb::FieldDescriptor::CPPTYPE_ENUM)
      R.SetEnum(&To, F, F->default_value_enum());
    else
      forElementType(elementTypeOf(F), [&](auto Tag) {
        if constexpr (isFieldType<decltype(Tag)>())
          setOne(R, To, F, getOne<decltype(Tag)>(R, To, F));
      });
  }
}

} // namespace cbridge
