//===- InteractiveChannel.cpp - The two FIFOs of a channel ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InteractiveChannel.h"

#include "os/Fifo.h"
#include "os/Folder.h"

#include <fcntl.h>
#include <unistd.h>

namespace cbridge {

namespace {

std::string questionsOf(const std::string &Base) { return Base + ".out"; }
std::string answersOf(const std::string &Base) { return Base + ".in"; }

} // namespace

InteractiveChannel::InteractiveChannel(std::string Base)
    : Base(std::move(Base)), Owner(os::processId()) {}

InteractiveChannel::~InteractiveChannel() {
  if (!Answers || Owner != os::processId())
    return;
  ::unlink(questionsOf(Base).c_str());
  ::unlink(answersOf(Base).c_str());
}

Expected<InteractiveChannel> InteractiveChannel::make(const std::string &Base) {
  InteractiveChannel C(Base);
  if (Status S = C.open(); !S)
    return S;
  return C;
}

Status InteractiveChannel::open() {
  // Only somebody who reads lets a FIFO be opened for writing without waiting.
  if (os::openFifo(questionsOf(Base), O_WRONLY).ok())
    return Status::error(StatusCode::Io,
                         questionsOf(Base) + " is in use by another host");
  for (const std::string &Path : {questionsOf(Base), answersOf(Base)})
    if (Status S = os::makeFifo(Path); !S)
      return S;
  if (Status S = reopen(); !S)
    return S;
  Expected<os::File> F = os::openFifo(answersOf(Base), O_RDWR);
  if (!F)
    return F.status();
  Answers = std::move(*F);
  return Status();
}

/// A FIFO whose writers have all left says so until it is opened anew. The new
/// end is open before the old one closes: compilers never find nobody.
Status InteractiveChannel::reopen() {
  Expected<os::File> F = os::openFifo(questionsOf(Base), O_RDONLY);
  if (!F)
    return F.status();
  Questions = std::move(*F);
  return Status();
}

Expected<InteractiveChannel::Event> InteractiveChannel::read() {
  for (;;) {
    Expected<InteractiveStream::Event> E = In.next();
    if (!E)
      return E.status().withContext(questionsOf(Base));
    if (*E == InteractiveStream::Event::Question)
      return Event::Question;
    if (*E == InteractiveStream::Event::Began) {
      // It has asked nothing yet: this is for one that died.
      os::drainFifo(Answers.get());
      return Event::Began;
    }
    MutableBytes To = In.space();
    if (To.empty())
      return Status::error(StatusCode::OutOfMemory,
                           questionsOf(Base) + ": no memory");
    os::Transfer T = os::readSome(Questions.get(), To);
    switch (T.Kind) {
    case os::Transfer::Done:
      In.filled(T.Size);
      break;
    case os::Transfer::WouldBlock:
      return Event::Nothing;
    case os::Transfer::Failed:
      return os::lastError(questionsOf(Base));
    case os::Transfer::Closed: {
      bool Begun = In.begun();
      In.reset();
      if (Status S = reopen(); !S)
        return S;
      return Begun ? Event::Ended : Event::Nothing;
    }
    }
  }
}

Status InteractiveChannel::reply(Bytes Advice) {
  os::Transfer T = os::writeSome(Answers.get(), {&Advice, 1});
  if (T.Kind == os::Transfer::Done && T.Size == Advice.size())
    return Status();
  // Nobody has fetched a whole pipe of answers to questions that were asked.
  return Status::error(StatusCode::Io,
                       answersOf(Base) + ": the answer cannot be written");
}

} // namespace cbridge
