//===- Doctor.cpp - cbridge doctor ----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "engine/tflite/TfliteLibrary.h"
#include "module/Module.h"
#include "os/File.h"
#include "shared/Capture.h"
#include "shared/FindClang.h"
#include "shared/PluginPath.h"

#include <cbridge/MLModelRunner.h>
#include <cbridge/PassModel.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace cbridge::tool {

namespace {

/// A call that may be inlined, and enough values at a time that some registers
/// must be freed.
constexpr char Program[] = R"(
static int twice(int x) { return x + x; }
int f(int n, const int *v) {
  int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], g = v[5], h = v[6], i = v[7], j = v[8],
      k = v[9], l = v[10], m = v[11], o = v[12], p = v[13], q = v[14], r = v[15];
  for (int x = 0; x < n; ++x) {
    a += b * x; b += c; c ^= d; d += e * a; e += g; g ^= h; h += i; i += j * b; j += k; k ^= l;
    l += m; m += o * c; o += p; p ^= q; q += r; r += twice(a);
  }
  return a + b + c + d + e + g + h + i + j + k + l + m + o + p + q + r;
}
)";

/// An ONNX model that gives `out` the value of `in`, both int64[1].
constexpr unsigned char IdentityModel[] = {
    0x08, 0x08, 0x3a, 0x3d, 0x0a, 0x13, 0x0a, 0x02, 0x69, 0x6e, 0x12, 0x03,
    0x6f, 0x75, 0x74, 0x22, 0x08, 0x49, 0x64, 0x65, 0x6e, 0x74, 0x69, 0x74,
    0x79, 0x12, 0x01, 0x67, 0x5a, 0x10, 0x0a, 0x02, 0x69, 0x6e, 0x12, 0x0a,
    0x0a, 0x08, 0x08, 0x07, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x01, 0x62, 0x11,
    0x0a, 0x03, 0x6f, 0x75, 0x74, 0x12, 0x0a, 0x0a, 0x08, 0x08, 0x07, 0x12,
    0x04, 0x0a, 0x02, 0x08, 0x01, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x11};

Deadline soon() { return Deadline::in(std::chrono::seconds(60)); }

std::string firstLine(const std::string &Text) {
  return Text.substr(0, Text.find('\n'));
}

void heading(const char *Text) { std::printf("\n%s\n", Text); }

bool report(bool Works, const std::string &What, const std::string &More) {
  std::printf("  %-3s %-16s %s\n", Works ? "ok" : "no", What.c_str(),
              More.c_str());
  std::fflush(stdout);
  return Works;
}

bool report(const Status &S, const std::string &What, const std::string &Good) {
  return report(S.ok(), What, S.ok() ? Good : firstLine(S.message()));
}

Status failure(const std::string &Why) {
  return Status::error(StatusCode::Unavailable, Why);
}

/// A folder that is gone when the check is over.
class Scratch {
public:
  static Expected<Scratch> make() {
    Expected<std::string> Made = os::makePrivateDirectory();
    if (!Made)
      return Made.status();
    return Scratch(*Made);
  }
  Scratch(Scratch &&Other) noexcept : Path(std::exchange(Other.Path, "")) {}
  Scratch &operator=(Scratch &&) = delete;
  ~Scratch() {
    if (!Path.empty())
      os::removeDirectory(Path);
  }
  /// The path of a new file with this content.
  Expected<std::string> file(const char *Name, const void *Data, size_t Size) {
    std::string File = Path + "/" + Name;
    std::FILE *Out = std::fopen(File.c_str(), "wb");
    bool Written = Out && std::fwrite(Data, 1, Size, Out) == Size;
    if (Out && std::fclose(Out) != 0)
      Written = false;
    if (!Written)
      return os::lastError(File);
    return File;
  }

private:
  explicit Scratch(std::string Path) : Path(std::move(Path)) {}
  std::string Path;
};

/// Compiles the program; what the compiler printed.
Expected<std::string> compile(std::vector<std::string> Command, Scratch &In,
                              const std::vector<std::string> &Environment) {
  Expected<std::string> Source =
      In.file("program.c", Program, sizeof(Program) - 1);
  if (!Source)
    return Source.status();
  for (const char *Word : {"-O2", "-c", "-o", "/dev/null"})
    Command.emplace_back(Word);
  Command.push_back(*Source);
  Expected<Captured> Done = capture(std::move(Command), Environment, soon());
  if (!Done)
    return Done.status();
  if (Done->ExitStatus != 0)
    return failure("exit status " + std::to_string(Done->ExitStatus) + ": " +
                   firstLine(Done->Output));
  return Done->Output;
}

/// Compiles with a model for inlining and looks for its decision.
Status tryInlining(std::vector<std::string> Command, Scratch &In,
                   const std::string &Model = "constant:1") {
  Command.emplace_back("-Rpass=cbridge");
  Command.emplace_back("-Rpass-missed=cbridge");
  Expected<std::string> Printed =
      compile(std::move(Command), In,
              {"CBRIDGE_INLINE_MODEL=" + Model, "CBRIDGE_DISABLE=0",
               "CBRIDGE_EVICT_MODEL=", "CBRIDGE_PRIORITY_MODEL="});
  if (!Printed)
    return Printed.status();
  if (Printed->find("'f' by " + Model) == std::string::npos)
    return failure("no decision was brought before the model");
  return Status();
}

/// What cbridge-clang uses where nobody names a model.
void checkPolicy(const Clang &Compiler, const std::string &Plugin,
                 Scratch &In) {
  constexpr char Policy[] = "native:InlineOz";
  Status Works =
      tryInlining({Compiler.Path, "-fpass-plugin=" + Plugin}, In, Policy);
  report(Works.ok(), "its policy",
         Policy + std::string(Works.ok()
                                  ? ", of cbridge-clang at -Os and -Oz"
                                  : " is not in it: cbridge-clang inlines as "
                                    "clang does; CMake: CBRIDGE_WITH_POLICY"));
}

/// Beside us, where both are installed; or where both were built.
std::string driverPath() {
  for (const char *Place : {"cbridge-clang", "../cbridge-clang/cbridge-clang"})
    if (std::string File = programFolder() + Place;
        ::access(File.c_str(), X_OK) == 0)
      return File;
  return "cbridge-clang"; // in PATH, perhaps
}

/// The worker of search and training, where Python looks for it, and where it
/// was installed or built.
Expected<std::string> workerPath() {
  constexpr char Name[] = "cbridge-compile-worker";
  const char *Given = std::getenv("CBRIDGE_COMPILE_WORKER");
  std::vector<std::string> Files;
  if (Given && *Given)
    Files.emplace_back(Given);
  else
    for (const char *Place :
         {"", "../" CBRIDGE_LIBDIR "/compiler-bridge/",
          "../lib/compiler-bridge/", "../../compilers/llvm/worker/"})
      Files.push_back(programFolder() + Place + Name);
  for (const std::string &File : Files)
    if (::access(File.c_str(), X_OK) == 0)
      return File;
  return failure(Given && *Given
                     ? "CBRIDGE_COMPILE_WORKER: '" + Files[0] +
                           "' is no program"
                     : "only needed by cbridge search and train; to build it, "
                       "Debian: libclang-19-dev");
}

/// Starts it, with nothing to do.
void checkWorker(const Expected<std::string> &Plugin) {
  Expected<std::string> Worker = workerPath();
  Status Works = Worker ? Status() : Worker.status();
  if (Worker) {
    std::vector<std::string> Command = {*Worker};
    if (Plugin)
      Command.push_back(*Plugin);
    Expected<Captured> Done = capture(std::move(Command), {}, soon());
    if (!Done)
      Works = Done.status();
    else if (Done->ExitStatus != 0)
      Works = failure("exit status " + std::to_string(Done->ExitStatus) + ": " +
                      firstLine(Done->Output));
  }
  report(Works, "compile worker", Worker ? *Worker : "");
}

bool checkCompilers(Scratch &In) {
  heading("compilers");
  Expected<Clang> Compiler = findClang(false);
  if (!report(Compiler ? Status() : Compiler.status(), "clang 19",
              Compiler ? Compiler->Path : ""))
    return false;
  if (!Compiler->isVersion19())
    return report(false, "clang 19", Compiler->Path + " is another version");
  Expected<std::string> Plugin = findLlvmPlugin();
  Status Works =
      Plugin ? tryInlining({Compiler->Path, "-fpass-plugin=" + *Plugin}, In)
             : Plugin.status();
  bool All = report(Works, "the plugin", Plugin ? *Plugin : "");
  if (All)
    checkPolicy(*Compiler, *Plugin, In);
  std::string Driver = driverPath();
  All &= report(tryInlining({Driver}, In), "cbridge-clang", Driver);
  Expected<Captured> Linker = capture({"ld.lld-19", "--version"}, {}, soon());
  if (!Linker)
    Linker = capture({"/usr/lib/llvm-19/bin/ld.lld", "--version"}, {}, soon());
  report(Linker ? Status() : failure("only needed for LTO; Debian: lld-19"),
         "lld 19", Linker ? firstLine(Linker->Output) : "");
  checkWorker(Plugin);
  return All;
}

Status tryOnnx(Scratch &In) {
  Expected<std::string> File =
      In.file("identity.onnx", IdentityModel, sizeof(IdentityModel));
  if (!File)
    return File.status();
  Expected<Model> M =
      Model::open("onnx:" + RunnerString::escape(*File) + "?on_error=fail",
                  Signature({TensorSpec::create<int64_t>("in")},
                            TensorSpec::create<int64_t>("out")));
  if (!M)
    return M.status();
  MLModelRunner Runner = M->runner();
  Runner.populateFeatures(std::pair{"in", 42});
  Expected<int64_t> Answer = Runner.evaluate<int64_t>();
  if (Answer && *Answer != 42)
    return failure("gives wrong answers");
  return Answer ? Status() : Answer.status();
}

void checkRunners(Scratch &In) {
  heading("runners");
  report(true, "in the library",
         "constant:, heuristic:, replay:, native:, shm:, pipe:");
  report(tryOnnx(In), "onnx:", "ONNX Runtime is there and evaluates");
  Expected<const TfliteLibrary *> Tflite = TfliteLibrary::get();
  report(Tflite ? Status() : Tflite.status(), "tflite:", "TFLite is there");
  Expected<const Module *> Grpc = Module::find("grpc");
  report(Grpc ? Status() : Grpc.status(), "grpc:, protobuf",
         Grpc ? (*Grpc)->file() : "");
}

void checkPython() {
  heading("python");
  const char *Given = std::getenv("CBRIDGE_PYTHON");
  std::string Python = Given && *Given ? Given : "python3";
  const char *Script = "import importlib.util as u, sys\n"
                       "print(sys.version.split()[0])\n"
                       "for name in sys.argv[1:]:\n"
                       "  print(name if u.find_spec(name) else '')\n";
  struct Package {
    const char *Name, *For;
  };
  const Package Packages[] = {
      {"compiler_bridge", "the commands in Python, and peers"},
      {"onnx", "cbridge compile, inspect, verify, new-model"},
      {"onnxruntime", "cbridge verify"},
      {"torch", "cbridge train, compiler_bridge.export.from_torch"},
      {"gymnasium", "compiler_bridge.envs"},
      {"tensorflow", "cbridge_add_tf_model"}};
  std::vector<std::string> Command = {Python, "-c", Script};
  for (const Package &Each : Packages)
    Command.emplace_back(Each.Name);
  Expected<Captured> Done = capture(std::move(Command), {}, soon());
  if (!Done || Done->ExitStatus != 0) {
    report(false, Python,
           Done ? firstLine(Done->Output) : firstLine(Done.status().message()));
    return;
  }
  report(true, Python, firstLine(Done->Output));
  std::string Lines = Done->Output + "\n";
  for (const Package &Each : Packages)
    report(Lines.find("\n" + std::string(Each.Name) + "\n") !=
               std::string::npos,
           Each.Name, std::string("for ") + Each.For);
}

/// Models that the environment names, tried in clang.
bool checkModels(Scratch &In) {
  heading("models of the environment");
  if (isDisabled())
    return report(true, "CBRIDGE_DISABLE", "no model is used");
  bool All = true, Any = false;
  const char *Variables[] = {"CBRIDGE_INLINE_MODEL", "CBRIDGE_EVICT_MODEL",
                             "CBRIDGE_PRIORITY_MODEL"};
  for (const char *Variable : Variables) {
    const char *Value = std::getenv(Variable);
    if (!Value || !*Value)
      continue;
    Any = true;
    std::vector<std::string> Environment = {std::string(Variable) + "=" +
                                            Value};
    for (const char *Other : Variables)
      if (Other != Variable)
        Environment.push_back(std::string(Other) + "=");
    Expected<std::string> Printed = compile({driverPath()}, In, Environment);
    Status Works = Printed ? Status() : Printed.status();
    if (Printed)
      if (size_t At = Printed->find("cbridge"); At != std::string::npos)
        Works = failure(firstLine(Printed->substr(At)));
    All &= report(Works, Variable, std::string(Value) + " decides");
  }
  if (!Any)
    report(true, "none", "CBRIDGE_INLINE_MODEL would name one");
  return All;
}

} // namespace

int doctor(Span<const std::string> Given) {
  if (!Given.empty())
    return fail("doctor takes no arguments; see --help");
  std::signal(SIGPIPE, SIG_IGN); // `| head` must not keep us from cleaning up
  Expected<Scratch> In = Scratch::make();
  if (!In)
    return fail(In.status());
  std::printf("CompilerBridge %s\n", CBRIDGE_VERSION);
  bool Well = checkCompilers(*In);
  checkRunners(*In);
  checkPython();
  if (Well)
    Well = checkModels(*In);
  std::printf(Well ? "\nA model can decide in clang.\n"
                   : "\nA model cannot decide in clang: see the lines with "
                     "'no' above.\n");
  return Well ? Success : Different;
}

} // namespace cbridge::tool
