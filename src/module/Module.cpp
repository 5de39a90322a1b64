//===- Module.cpp - Shared libraries that add to this one -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Module.h"

#include "module/Adapters.h"
#include "os/File.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <mutex>

#include <dlfcn.h>
#include <unistd.h>

namespace cbridge {

struct Module::Serializers {
  std::vector<c::SerializerType> Types;
};

/// The modules of this process.
struct Module::Table {
  /// Never destroyed: compilers may still decide while they exit.
  static Table &get() {
    static auto *const Only = new Table;
    return *Only;
  }
  Expected<const Module *> load(const std::string &Path, os::Binding B);

  struct Entry {
    void *Handle;
    std::unique_ptr<const Module> Of;
  };
  std::mutex Using;
  std::vector<Entry> All;
};

static Status unusable(const std::string &File, const std::string &Why) {
  return Status::error(StatusCode::Unsupported, "module " + File + ": " + Why);
}

Status Module::open(void *Handle) {
  auto *Entry = reinterpret_cast<decltype(&cbridge_module_v1)>(
      ::dlsym(Handle, "cbridge_module_v1"));
  if (!Entry)
    return unusable(File, "does not export cbridge_module_v1, which modules of "
                          "interface version 1 do");
  const cbridge_module *Theirs = Entry(&c::host());
  if (!Theirs)
    return unusable(File, "refuses to work with interface version " +
                              std::to_string(CBRIDGE_MODULE_VERSION));
  cbridge_module M = c::copied(Theirs);
  if (M.version != CBRIDGE_MODULE_VERSION)
    return unusable(File, "has interface version " + std::to_string(M.version) +
                              ", this program has " +
                              std::to_string(CBRIDGE_MODULE_VERSION));
  std::string Who = "module " + File;
  for (auto *Each = M.runners; Each && *Each; ++Each) {
    Expected<Scheme> S = c::runnerScheme(*Each, Who);
    if (!S)
      return S.status();
    Runners.push_back(std::move(*S));
  }
  for (auto *Each = M.channels; Each && *Each; ++Each) {
    Expected<ChannelScheme> S = c::channelScheme(*Each, Who);
    if (!S)
      return S.status();
    Channels.push_back(std::move(*S));
  }
  for (auto *Each = M.models; Each && *Each; ++Each)
    Models.push_back(*Each);
  Codecs = std::make_shared<Serializers>();
  for (auto *Each = M.serializers; Each && *Each; ++Each) {
    Expected<c::SerializerType> T = c::serializerType(*Each, Who);
    if (!T)
      return T.status();
    Codecs->Types.push_back(std::move(*T));
  }
  return Status();
}

Expected<const Module *> Module::Table::load(const std::string &Path,
                                             os::Binding B) {
  std::lock_guard<std::mutex> Lock(Using);
  for (const Entry &Each : All)
    if (Each.Of->File == Path)
      return Each.Of.get();
  Expected<void *> Loaded = os::loadLibrary(Path, B);
  if (!Loaded)
    return unusable(Path, Loaded.status().message());
  void *Handle = *Loaded;
  for (const Entry &Each : All)
    if (Each.Handle == Handle)
      return Each.Of.get(); // by another name
  std::unique_ptr<Module> Made(new Module(Path));
  // One that cannot be used stays as well: it may have started something.
  if (Status S = Made->open(Handle); !S)
    return S;
  All.push_back({Handle, std::move(Made)});
  return All.back().Of.get();
}

Expected<const Module *> Module::load(const std::string &File, os::Binding B) {
  std::unique_ptr<char, void (*)(void *)> Path(
      ::realpath(File.c_str(), nullptr), std::free);
  if (!Path)
    return Status::error(StatusCode::Unavailable,
                         os::lastError("module " + File).message());
  return Table::get().load(Path.get(), B);
}

std::vector<const Module *> Module::loaded() {
  Table &T = Table::get();
  std::lock_guard<std::mutex> Lock(T.Using);
  std::vector<const Module *> List;
  for (const Table::Entry &Each : T.All)
    List.push_back(Each.Of.get());
  return List;
}

Expected<const Module *> Module::find(std::string_view Name) {
  auto None = [](std::string Why) {
    return Status::error(StatusCode::InvalidArgument, std::move(Why));
  };
  // Names may come from another process.
  if (Name.empty() || Name.size() > 64 ||
      !std::all_of(Name.begin(), Name.end(), [](char C) {
        return (C >= 'a' && C <= 'z') || (C >= '0' && C <= '9') || C == '-' ||
               C == '_';
      }))
    return None("no module can have that name");
  std::string Base = "cbridge-" + std::string(Name) + ".so", Looked;
  for (const std::string &Place : os::libraryPlaces()) {
    std::string File = Place;
    File.append("/").append(Base);
    if (::access(File.c_str(), F_OK) == 0)
      return load(File);
    Looked += Looked.empty() ? "" : ", ";
    Looked += Place;
  }
  return None("there is no " + Base + " in " + Looked +
              "; CBRIDGE_MODULE_PATH may name more folders");
}

const Scheme *Module::runner(std::string_view Name) const {
  for (const Scheme &Each : Runners)
    if (Each.Name == Name)
      return &Each;
  return nullptr;
}

const ChannelScheme *Module::channel(std::string_view Name) const {
  for (const ChannelScheme &Each : Channels)
    if (Each.Name == Name)
      return &Each;
  return nullptr;
}

bool Module::hasSerializer(std::string_view Name) const {
  for (const c::SerializerType &Each : Codecs->Types)
    if (Each.Name == Name)
      return true;
  return false;
}

Expected<std::unique_ptr<Serializer>>
Module::makeSerializer(std::string_view Name) const {
  for (const c::SerializerType &Each : Codecs->Types)
    if (Each.Name == Name)
      return c::makeSerializer(Each);
  return unusable(File, "has no serializer '" + std::string(Name) + "'");
}

} // namespace cbridge
