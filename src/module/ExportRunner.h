//===- ExportRunner.h - Runners in a module's table -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of Export.h.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULE_EXPORTRUNNER_H
#define CBRIDGE_MODULE_EXPORTRUNNER_H

#include "module/Export.h"

namespace cbridge::exported {

struct ModelHandle {
  Signature Sig;
  EngineSource Source;
};

/// An engine and what it needs to live behind a C table.
struct RunnerHandle {
  std::unique_ptr<Engine> Of;
  const Signature *Sig;
  std::vector<std::string_view> Texts;

  Span<const int64_t> extents(size_t I, const int64_t *Given) const {
    return {Given, Sig->inputs()[I].shape().size()};
  }
  static RunnerHandle &get(void *H) { return *static_cast<RunnerHandle *>(H); }
};

inline Call callOf(const cbridge_call *C) {
  Call To;
  To.Until = c::deadline(C->until);
  To.Context = c::text(C->context);
  if (C->has_reward)
    To.Reward = C->reward;
  To.Truncated = C->truncated != 0;
  return To;
}

/// Open is as Scheme has it.
template <auto Open>
cbridge_code openModel(cbridge_address *Address, const cbridge_signature *Given,
                       void **To, cbridge_error *Error) {
  return guarded(Error, [&]() -> Status {
    Expected<RunnerString> R = parse(Address);
    if (!R)
      return R.status();
    auto Made = std::make_unique<ModelHandle>();
    Made->Sig = Signature(SpecCache::list(Given->inputs, Given->input_count),
                          SpecCache::list(Given->outputs, Given->output_count));
    Expected<EngineSource> Source = Open(*R, Made->Sig);
    if (!Source)
      return Source.status();
    Made->Source = std::move(*Source);
    *To = Made.release();
    return Status();
  });
}

/// The functions of a runner.
constexpr void fillRunner(cbridge_runner_type &T) {
  using Handle = RunnerHandle;
  T.new_runner = [](void *M, void **To, cbridge_error *Error) {
    return guarded(Error, [&]() -> Status {
      auto &Model = *static_cast<ModelHandle *>(M);
      Expected<std::unique_ptr<Engine>> Made = Model.Source();
      if (!Made)
        return Made.status();
      *To = new Handle{std::move(*Made), &Model.Sig, {}};
      return Status();
    });
  };
  T.delete_runner = [](void *H) { delete static_cast<Handle *>(H); };
  T.run = [](void *H, const cbridge_call *C, cbridge_error *Error) {
    return guarded(Error, [&] { return Handle::get(H).Of->run(callOf(C)); });
  };
  T.end_episode = [](void *H, const cbridge_call *C, cbridge_error *Error) {
    return guarded(Error,
                   [&] { return Handle::get(H).Of->endEpisode(callOf(C)); });
  };
  T.output = [](void *H, size_t I, cbridge_tensor *To, cbridge_error *Error) {
    return guarded(Error, [&] {
      *To = c::tensor(Handle::get(H).Of->output(I));
      return Status();
    });
  };
  T.input = [](void *H, size_t I, void **Data, size_t *Size,
               cbridge_error *Error) {
    return guarded(Error, [&] {
      MutableBytes Lent = Handle::get(H).Of->input(I);
      *Data = Lent.data();
      *Size = Lent.size();
      return Status();
    });
  };
  T.resize = [](void *H, size_t I, const int64_t *Extents,
                cbridge_error *Error) {
    return guarded(Error, [&] {
      Handle &R = Handle::get(H);
      return R.Of->resize(I, R.extents(I, Extents));
    });
  };
  T.set_strings = [](void *H, size_t I, const cbridge_text *Values,
                     size_t Count, const int64_t *Extents,
                     cbridge_error *Error) {
    return guarded(Error, [&] {
      Handle &R = Handle::get(H);
      R.Texts.clear();
      for (size_t V = 0; V < Count; ++V)
        R.Texts.push_back(c::text(Values[V]));
      return R.Of->setStrings(I, R.Texts, R.extents(I, Extents));
    });
  };
}

/// Claims is as Scheme has it.
template <auto Claims> int claimsString(cbridge_address *Address) {
  bool Claimed = false;
  cbridge_error Ignored;
  (void)guarded(&Ignored, [&]() -> Status {
    Expected<RunnerString> R = parse(Address);
    Claimed = R && Claims(*R);
    return Status();
  });
  return Claimed;
}

/// `Name:`, by an open function as Scheme has it. Keys ends with null, or is.
/// If the module has a channel of that name, set claims as well.
template <auto Open>
constexpr cbridge_runner_type exportRunner(const char *Name, const char *Help,
                                           const char *const *Keys) {
  cbridge_runner_type T = {};
  T.size = sizeof(T);
  T.scheme = Name;
  T.help = Help;
  T.keys = Keys;
  T.open = openModel<Open>;
  T.close = [](void *M) { delete static_cast<ModelHandle *>(M); };
  fillRunner(T);
  return T;
}

} // namespace cbridge::exported

#endif // CBRIDGE_MODULE_EXPORTRUNNER_H
