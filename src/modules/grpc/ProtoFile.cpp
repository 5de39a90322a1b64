//===- ProtoFile.cpp - The descriptor set of a user's .proto --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/ProtoFile.h"

#include "os/File.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/stubs/logging.h>

#include <fcntl.h>
#include <sys/stat.h>

namespace cbridge {

namespace pb = google::protobuf;

namespace {

constexpr const char HowToMake[] =
    "; make it with protoc --include_imports --descriptor_set_out=FILE";

/// Keeps the first thing that is wrong.
class FirstError : public pb::DescriptorPool::ErrorCollector {
public:
  void AddError(const std::string & /*File*/, const std::string &Element,
                const pb::Message * /*Descriptor*/, ErrorLocation /*Location*/,
                const std::string &Message) override {
    if (Text.empty())
      Text = (Element.empty() ? "" : Element.substr(0, 200) + ": ") +
             Message.substr(0, 500);
  }
  std::string Text;
};

/// Whether a service is meant by a full name, or by the last part of it.
bool isCalled(const pb::ServiceDescriptor &S, const std::string &Name) {
  return Name == S.full_name() || Name == S.name();
}

Expected<std::string> readAll(const std::string &Path) {
  // A FIFO that nobody writes must not keep us.
  Expected<os::File> F = os::openFile(Path, O_RDONLY | O_NONBLOCK);
  if (!F)
    return F.status();
  struct stat About;
  if (::fstat(F->get(), &About) != 0)
    return os::lastError(Path);
  if (!S_ISREG(About.st_mode))
    return Status::error(StatusCode::Io, Path + ": is no regular file");
  if (size_t(About.st_size) > ProtoFile::MaxSize)
    return Status::error(StatusCode::Protocol,
                         Path + ": more than 16 MiB" + HowToMake);
  std::string All(size_t(About.st_size), 0);
  size_t Have = 0;
  while (Have < All.size()) {
    os::Transfer T =
        os::readSome(F->get(), {reinterpret_cast<unsigned char *>(&All[Have]),
                                All.size() - Have});
    if (T.Kind != os::Transfer::Done)
      return Status::error(StatusCode::Io, Path + ": cannot be read");
    Have += T.Size;
  }
  return All;
}

} // namespace

Expected<std::shared_ptr<ProtoFile>> ProtoFile::read(const std::string &Path) {
  Expected<std::string> All = readAll(Path);
  if (!All)
    return All.status();
  Expected<std::shared_ptr<ProtoFile>> Parsed = parse(*All);
  return Parsed ? Parsed : Parsed.status().withContext(Path);
}

Expected<std::shared_ptr<ProtoFile>> ProtoFile::parse(std::string_view Set) {
  auto Wrong = [](const std::string &Why) {
    return Status::error(StatusCode::Protocol, Why + HowToMake);
  };
  pb::LogSilencer Quiet;
  pb::FileDescriptorSet Parsed;
  if (Set.empty() || Set.size() > MaxSize ||
      !Parsed.ParsePartialFromArray(Set.data(), int(Set.size())) ||
      !Parsed.IsInitialized())
    return Wrong("is no descriptor set");
  auto Made = std::make_shared<ProtoFile>();
  for (const pb::FileDescriptorProto &Each : Parsed.file()) {
    FirstError Why;
    const pb::FileDescriptor *Built =
        Made->Pool.BuildFileCollectingErrors(Each, &Why);
    if (!Built)
      return Wrong("'" + Each.name().substr(0, 200) + "': " + Why.Text);
    Made->Files.push_back(Built);
  }
  return Made;
}

Expected<const pb::MethodDescriptor *>
ProtoFile::method(const RunnerString &R) const {
  std::string Service = R.option("service"), Name = R.option("method");
  std::vector<const pb::MethodDescriptor *> Fit;
  std::string Services, Methods;
  auto List = [](std::string &To, const std::string &Each) {
    // Long enough for a person.
    if (To.size() < 500)
      To += (To.empty() ? "" : ", ") + Each;
    else if (To.back() != '.')
      To += ", ...";
  };
  bool Exact = Pool.FindServiceByName(Service) != nullptr;
  for (const pb::FileDescriptor *File : Files)
    for (int I = 0; I < File->service_count(); ++I) {
      const pb::ServiceDescriptor &S = *File->service(I);
      List(Services, S.full_name());
      if (Exact ? S.full_name() != Service
                : !Service.empty() && !isCalled(S, Service))
        continue;
      for (int J = 0; J < S.method_count(); ++J) {
        const pb::MethodDescriptor *M = S.method(J);
        List(Methods, M->full_name());
        if (Name.empty() || Name == M->name())
          Fit.push_back(M);
      }
    }
  if (Fit.size() == 1)
    return Fit[0];
  if (Services.empty())
    return R.errorAt("proto", "there is no service in it");
  if (Methods.empty())
    return R.errorAt(Service.empty() ? "proto" : "service",
                     "no method of such a service; there are " + Services);
  std::string Candidates;
  for (const pb::MethodDescriptor *M : Fit)
    List(Candidates, M->full_name());
  if (Fit.empty())
    return R.errorAt("method", "no such method; there are " + Methods);
  const char *Where = R.has("method")    ? "method"
                      : R.has("service") ? "service"
                                         : "proto";
  return R.errorAt(Where, "say by service= and method= which of " + Candidates);
}

std::unique_ptr<pb::Message>
ProtoFile::newMessage(const pb::Descriptor *Type) const {
  return std::unique_ptr<pb::Message>(Factory.GetPrototype(Type)->New());
}

} // namespace cbridge
