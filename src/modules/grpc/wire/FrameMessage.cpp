//===- FrameMessage.cpp - Frames as Observation and Advice ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/wire/FrameMessage.h"

#include "channel/Handshake.h"
#include "core/Wire.h"

namespace cbridge {

using wire::Type;

namespace {

bool isContent(unsigned Field) {
  return Field >= unsigned(Content::Text) && Field <= unsigned(Content::Other);
}

Status malformed(const std::string &Why) {
  return Status::error(StatusCode::Protocol, Why);
}

} // namespace

Content contentOf(std::string_view Serdes) {
  return Serdes == "protobuf"    ? Content::Tensors
         : Serdes == "bitstream" ? Content::Bitstream
         : Serdes == "json"      ? Content::Json
                                 : Content::Other;
}

Content FrameMessage::fieldOf(FrameKind Kind) const {
  switch (Kind) {
  case FrameKind::Request:
  case FrameKind::Reply:
    return Tensors;
  case FrameKind::End:
  case FrameKind::Bye:
    return Content::None;
  default:
    return Content::Text;
  }
}

void FrameMessage::learn(FrameKind Kind, Bytes Payload) {
  if (Kind != FrameKind::Hello)
    return;
  if (Expected<Hello> H = Hello::decode(Payload))
    Tensors = contentOf(H->Serdes);
}

size_t FrameMessage::encode(const FrameHeader &H, Bytes FirstPiece,
                            unsigned char (&To)[MaxHeader]) {
  learn(H.Kind, FirstPiece);
  wire::Writer W(To);
  W.varintField(FieldKind, uint64_t(H.Kind));
  W.fixed64Field(FieldSession, H.Session);
  if (H.Sequence)
    W.varintField(FieldSequence, H.Sequence);
  if (H.Runner)
    W.varintField(FieldRunner, H.Runner);
  if (H.Flags & FrameHeader::HasReward) {
    uint64_t Bits;
    std::memcpy(&Bits, &H.Reward, sizeof(Bits));
    W.fixed64Field(FieldReward, Bits);
  }
  if (H.Flags & FrameHeader::CutShort)
    W.varintField(FieldTruncated, 1);
  if (H.Flags & FrameHeader::EndsSession)
    W.varintField(FieldEndsSession, 1);
  if (Content Field = fieldOf(H.Kind); Field != Content::None)
    W.beginBytes(unsigned(Field), size_t(H.Length));
  return size_t(W.at() - To);
}

size_t FrameMessage::payloadOffset(Bytes Beginning) {
  wire::Reader R(Beginning);
  while (!R.atEnd()) {
    size_t Offset = R.offset();
    if (R.next() && !isContent(R.Field))
      continue;
    // What is longer than the beginning has only a tag and a length here.
    wire::Reader Again(Beginning.subspan(Offset, Beginning.size() - Offset));
    uint64_t Tag, Size;
    if (!Again.varint(Tag) || !isContent(unsigned(Tag >> 3)) ||
        Type(Tag & 7) != Type::Bytes || !Again.varint(Size))
      return 0;
    return Offset + Again.offset();
  }
  return 0;
}

FrameKind FrameMessage::kindOf(Bytes Beginning) {
  wire::Reader R(Beginning);
  return R.next() && R.is(FieldKind, Type::Varint) && R.Number < 0x10000
             ? FrameKind(R.Number)
             : FrameKind(0);
}

uint64_t FrameMessage::sessionOf(Bytes Beginning) {
  for (wire::Reader R(Beginning); !R.atEnd() && R.next();)
    if (R.is(FieldSession, Type::Fixed64))
      return R.Number;
  return 0;
}

std::string FrameMessage::encodeContext(std::string_view Context) {
  if (Context.empty())
    return {};
  std::string To(wire::bytesSize(Context.size()), '\0');
  wire::Writer(reinterpret_cast<unsigned char *>(To.data()))
      .bytesField(FieldContext, Context.data(), Context.size());
  return To;
}

Expected<Frame> FrameMessage::decode(Bytes From, Unary *By) {
  Frame F;
  FrameHeader &H = F.Header;
  uint64_t Kind = 0;
  auto Found = Content::None;
  for (wire::Reader R(From); !R.atEnd();) {
    if (!R.next())
      return malformed("not a message of CompilerBridge, or not all of it");
    auto Flag = [&](uint32_t Bit) {
      H.Flags = R.Number ? H.Flags | Bit : H.Flags & ~Bit;
    };
    if (R.is(FieldKind, Type::Varint)) {
      Kind = R.Number;
    } else if (R.is(FieldSession, Type::Fixed64)) {
      H.Session = R.Number;
    } else if (R.is(FieldSequence, Type::Varint)) {
      H.Sequence = R.Number;
    } else if (R.is(FieldRunner, Type::Varint) && R.Number <= UINT32_MAX) {
      H.Runner = uint32_t(R.Number);
    } else if (R.is(FieldReward, Type::Fixed64)) {
      std::memcpy(&H.Reward, &R.Number, sizeof(H.Reward));
      H.Flags |= FrameHeader::HasReward;
    } else if (R.is(FieldTruncated, Type::Varint)) {
      Flag(FrameHeader::CutShort);
    } else if (R.is(FieldEndsSession, Type::Varint)) {
      Flag(FrameHeader::EndsSession);
    } else if (isContent(R.Field) && R.Kind == Type::Bytes &&
               Found == Content::None) {
      Found = Content(R.Field);
      F.Payload = R.Content;
    } else if (By && R.is(FieldContext, Type::Bytes)) {
      By->Context.assign(R.Content.begin(), R.Content.end());
    } else {
      return malformed("field " + std::to_string(R.Field) +
                       " of a message: unknown, of another type, or too much");
    }
  }
  if (By && !Kind)
    Kind = uint64_t(By->Unsaid);
  if (Kind < uint64_t(FrameKind::Hello) || Kind > uint64_t(FrameKind::Bye))
    return malformed("a message of the unknown kind " + std::to_string(Kind));
  H.Kind = FrameKind(Kind);
  H.Length = F.Payload.size();
  learn(H.Kind, F.Payload);
  Content Wanted = fieldOf(H.Kind);
  bool MayLack = Wanted == Content::Text || Wanted == Content::None;
  if (Found != Wanted && !(Found == Content::None && MayLack))
    return malformed("a message of kind " + std::to_string(Kind) +
                     " with its content in field " +
                     std::to_string(unsigned(Found)) + ", expected " +
                     std::to_string(unsigned(Wanted)));
  return F;
}

} // namespace cbridge
