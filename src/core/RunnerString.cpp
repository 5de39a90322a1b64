//===- RunnerString.cpp - Parsing scheme:target?key=value -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/RunnerString.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cbridge {

namespace {

Status pointAt(std::string_view Text, size_t Column, const std::string &Why) {
  std::string Shown;
  for (char C : Text)
    Shown += static_cast<unsigned char>(C) < 0x20 || C == 0x7f ? '?' : C;
  return Status::error(StatusCode::InvalidArgument,
                       "runner string, column " + std::to_string(Column + 1) +
                           ": " + Why + "\n  " + Shown + "\n  " +
                           std::string(Column, ' ') + "^");
}

int hexValue(char C) {
  if (C >= '0' && C <= '9')
    return C - '0';
  if (C >= 'a' && C <= 'f')
    return C - 'a' + 10;
  if (C >= 'A' && C <= 'F')
    return C - 'A' + 10;
  return -1;
}

/// Decodes Text[Begin, End); the error points into Text.
Expected<std::string> percentDecode(std::string_view Text, size_t Begin,
                                    size_t End) {
  std::string Result;
  for (size_t I = Begin; I < End; ++I) {
    if (Text[I] != '%') {
      Result += Text[I];
      continue;
    }
    int High = I + 1 < End ? hexValue(Text[I + 1]) : -1;
    int Low = I + 2 < End ? hexValue(Text[I + 2]) : -1;
    if (High < 0 || Low < 0)
      return pointAt(Text, I, "'%' must be followed by two hex digits");
    if (High == 0 && Low == 0)
      return pointAt(Text, I, "%00 is not allowed");
    Result += static_cast<char>(High * 16 + Low);
    I += 2;
  }
  return Result;
}

bool isSchemeChar(char C, bool First) {
  return (C >= 'a' && C <= 'z') ||
         (!First && ((C >= '0' && C <= '9') || C == '-' || C == '_'));
}

bool isKeyChar(char C) {
  return (C >= 'a' && C <= 'z') || (C >= '0' && C <= '9') || C == '_' ||
         C == '-';
}

/// A number with a unit from Units; true if all of Text was used.
struct Unit {
  std::string_view Suffix;
  double Factor;
};
bool parseWithUnit(std::string_view Text, Span<const Unit> Units,
                   double &Result) {
  double Number = 0;
  const char *End = Text.data() + Text.size();
  auto [Rest, Error] = std::from_chars(Text.data(), End, Number);
  if (Error != std::errc() || !std::isfinite(Number) || Number < 0)
    return false;
  std::string_view Suffix(Rest, size_t(End - Rest));
  for (const Unit &U : Units)
    if (U.Suffix == Suffix) {
      Result = Number * U.Factor;
      return true;
    }
  return false;
}

/// For those who give the name of a file alone.
std::string hintFor(std::string_view Text) {
  const std::pair<std::string_view, const char *> Files[] = {
      {".so", ", such as native:FILE.so"},
      {".onnx", ", such as onnx:FILE.onnx"}};
  for (auto [Ending, Hint] : Files)
    if (Text.size() > Ending.size() &&
        Text.substr(Text.size() - Ending.size()) == Ending)
      return Hint;
  return "";
}

} // namespace

Expected<RunnerString> RunnerString::parse(std::string_view Text) {
  if (Text.empty())
    return pointAt(Text, 0, "empty; expected scheme:target?key=value");
  if (size_t Nul = Text.find('\0'); Nul != Text.npos)
    return pointAt(Text, Nul, "a NUL byte is not allowed");

  RunnerString R;
  R.Text = Text;
  size_t Colon = 0;
  while (Colon < Text.size() && isSchemeChar(Text[Colon], Colon == 0))
    ++Colon;
  if (Colon == Text.size())
    return pointAt(Text, Colon, "expected ':' after the scheme");
  if (Text[Colon] != ':' || Colon == 0)
    return pointAt(Text, Colon,
                   "expected a scheme in lower case followed by ':'" +
                       hintFor(Text));
  R.Scheme = Text.substr(0, Colon);
  R.TargetColumn = Colon + 1;

  size_t Question = std::min(Text.find('?', Colon), Text.size());
  Expected<std::string> Target = percentDecode(Text, Colon + 1, Question);
  if (!Target)
    return Target.status();
  R.Target = std::move(*Target);

  for (size_t Begin = Question + 1; Question < Text.size();) {
    size_t End = std::min(Text.find('&', Begin), Text.size());
    size_t Equals = Begin;
    while (Equals < End && isKeyChar(Text[Equals]))
      ++Equals;
    if (Equals == Begin)
      return pointAt(Text, Begin, "expected key=value");
    if (Equals == End || Text[Equals] != '=')
      return pointAt(Text, Equals, "expected '=' after the key");
    Option O;
    O.Key = Text.substr(Begin, Equals - Begin);
    O.KeyColumn = Begin;
    O.ValueColumn = Equals + 1;
    O.Raw = Text.substr(Equals + 1, End - Equals - 1);
    Expected<std::string> Value = percentDecode(Text, Equals + 1, End);
    if (!Value)
      return Value.status();
    O.Value = std::move(*Value);
    if (R.has(O.Key))
      return pointAt(Text, Begin, "'" + O.Key + "' is given twice");
    R.Options.push_back(std::move(O));
    if (End == Text.size())
      break;
    Begin = End + 1;
  }
  return R;
}

std::string RunnerString::escape(std::string_view Text) {
  static constexpr char Hex[] = "0123456789abcdef";
  std::string Escaped;
  for (char C : Text) {
    auto Byte = static_cast<unsigned char>(C);
    if (Byte <= ' ' || Byte == 0x7f || C == '%' || C == '?' || C == '&') {
      Escaped += '%';
      Escaped += Hex[Byte >> 4];
      Escaped += Hex[Byte & 15];
    } else {
      Escaped += C;
    }
  }
  return Escaped;
}

const RunnerString::Option *RunnerString::find(std::string_view Key) const {
  for (const Option &O : Options)
    if (O.Key == Key)
      return &O;
  return nullptr;
}

std::string RunnerString::option(std::string_view Key,
                                 std::string_view Default) const {
  const Option *O = find(Key);
  return O ? O->Value : std::string(Default);
}

Expected<std::string>
RunnerString::choice(std::string_view Key,
                     Span<const std::string_view> Allowed) const {
  const Option *O = find(Key);
  if (!O)
    return std::string(Allowed[0]);
  std::string List;
  for (std::string_view A : Allowed) {
    if (O->Value == A)
      return O->Value;
    List += (List.empty() ? "" : ", ") + std::string(A);
  }
  return errorAt(Key, "'" + O->Value + "' is none of " + List);
}

Expected<std::chrono::nanoseconds>
RunnerString::duration(std::string_view Key,
                       std::chrono::nanoseconds Default) const {
  const Option *O = find(Key);
  if (!O)
    return Default;
  static constexpr Unit Units[] = {
      {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"min", 60e9}};
  double Nanoseconds = 0;
  // A century is "for ever" and far from overflow.
  if (!parseWithUnit(O->Value, Units, Nanoseconds) || Nanoseconds > 3.2e18)
    return errorAt(Key, "'" + O->Value +
                            "' is no duration such as 10s, 250ms or 5us");
  return std::chrono::nanoseconds(static_cast<int64_t>(Nanoseconds));
}

Expected<size_t> RunnerString::byteSize(std::string_view Key,
                                        size_t Default) const {
  const Option *O = find(Key);
  if (!O)
    return Default;
  static constexpr Unit Units[] = {
      {"", 1}, {"k", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}};
  double Size = 0;
  if (!parseWithUnit(O->Value, Units, Size) || Size > 1e15)
    return errorAt(Key, "'" + O->Value + "' is no size such as 64k or 16M");
  return static_cast<size_t>(Size);
}

std::vector<std::string> RunnerString::words(std::string_view Key) const {
  std::vector<std::string> Words;
  const Option *O = find(Key);
  if (!O)
    return Words;
  std::string_view Raw = O->Raw;
  for (size_t Begin = 0; Begin < Raw.size();) {
    size_t End = std::min(Raw.find(' ', Begin), Raw.size());
    if (End > Begin) // parse() has decoded this text once without an error
      Words.push_back(*percentDecode(Raw, Begin, End));
    Begin = End + 1;
  }
  return Words;
}

Status RunnerString::checkKeys(Span<const std::string_view> Known) const {
  for (const Option &O : Options) {
    bool Found = false;
    std::string List;
    for (std::string_view K : Known) {
      Found |= O.Key == K;
      List += (List.empty() ? "" : ", ") + std::string(K);
    }
    if (!Found)
      return errorAtColumn(O.KeyColumn, "'" + Scheme + ":' has no option '" +
                                            O.Key + "'; it has " + List);
  }
  return Status();
}

Status RunnerString::errorAtColumn(size_t Column,
                                   const std::string &Why) const {
  return pointAt(Text, Column, Why);
}

Status RunnerString::errorAtScheme(const std::string &Why) const {
  return errorAtColumn(0, Why);
}

Status RunnerString::errorAtTarget(const std::string &Why) const {
  return errorAtColumn(TargetColumn, Why);
}

Status RunnerString::errorAt(std::string_view Key,
                             const std::string &Why) const {
  const Option *O = find(Key);
  return errorAtColumn(O ? O->ValueColumn : 0, Why);
}

} // namespace cbridge
