//===- AllocationTest.cpp - Decisions allocate nothing --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runner/TestEngine.h"

#include "os/File.h"
#include "serdes/Serializer.h"

#include <cbridge/Peer.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <thread>

#include <unistd.h>

using namespace cbridge;

static std::atomic<size_t> Allocations{0};

static void *counted(void *P) {
  ++Allocations;
  if (!P)
    std::abort();
  return P;
}

// The other forms call these. Out of line, or GCC sees malloc and free in some
// places and half a pair of operators in others.
[[gnu::noinline]] void *operator new(size_t Size) {
  return counted(std::malloc(Size));
}
void *operator new(size_t Size, std::align_val_t Alignment) {
  void *P = nullptr;
  return counted(posix_memalign(&P, size_t(Alignment), Size) ? nullptr : P);
}
[[gnu::noinline]] void operator delete(void *P) noexcept { std::free(P); }
[[gnu::noinline]] void operator delete(void *P, size_t) noexcept {
  std::free(P);
}
void operator delete(void *P, std::align_val_t) noexcept { std::free(P); }
void operator delete(void *P, size_t, std::align_val_t) noexcept {
  std::free(P);
}

/// How often memory is allocated by calls of Work after the first ones.
template <typename Callable> static size_t allocationsOf(Callable Work) {
  for (int Round = 0; Round < 3; ++Round)
    Work(Round);
  size_t Before = Allocations;
  for (int Round = 0; Round < 50; ++Round)
    Work(Round);
  return Allocations - Before;
}

static const std::vector<TensorSpec> &features() {
  static const std::vector<TensorSpec> Specs = {
      TensorSpec::create<int64_t>("count"),
      TensorSpec::create<float>("embedding", {Dynamic, 4}),
      TensorSpec::create<bool>("flags", {3}),
      TensorSpec::create<std::string>("name"),
      TensorSpec::create<std::string>("names", {Dynamic}),
  };
  return Specs;
}

static Model openEcho() {
  return openTest(
      {features(), std::vector{TensorSpec::create<int64_t>("index"),
                               TensorSpec::create<float>("priority", {2})}},
      [](const TensorStorage &In, TensorStorage &Out, const Call &) {
        put(Out, 0, In.view(0).as<int64_t>()[0]);
        return Status();
      });
}

TEST(AllocationTest, AllocationsAreCounted) {
  std::unique_ptr<int> Kept;
  EXPECT_EQ(allocationsOf([&](int I) { Kept = std::make_unique<int>(I); }),
            50u);
}

TEST(AllocationTest, DecisionsOnNumbersAllocateNothing) {
  MLModelRunner R = openEcho().runner();
  const std::vector<std::vector<float>> Rows(8, std::vector<float>(4, 0.5f));
  const std::array<bool, 3> Flags = {true, false, true};
  R.setMask(Flags);
  R.setRange(0, 100);
  EXPECT_EQ(allocationsOf([&](int Round) {
              R.switchContext(Round % 2 ? "a_rather_long_name_of_a_function"
                                        : "main");
              R.populateFeatures(std::pair{"count", Round % 2 * 2},
                                 std::pair{"flags", Span(Flags.data(), 3)});
              if (Round % 2)
                R.populateFeatures(
                    std::pair<const char *, const decltype(Rows) &>("embedding",
                                                                    Rows));
              else
                R.resize(1, {Round % 8, 4});
              ASSERT_EQ(R.evaluate<int>().valueOr(-1), Round % 2 * 2);
              ASSERT_TRUE(R.reward(1).ok());
              ASSERT_EQ(R.evaluateOr<int>([] { return -1; }), Round % 2 * 2);
              Expected<Decision> D = R.evaluate();
              ASSERT_TRUE(D && D->get<Span<const float>>("priority"));
            }),
            0u);
}

TEST(AllocationTest, DecisionsOnStringsAllocateNothing) {
  MLModelRunner R = openEcho().runner();
  const std::vector<std::string> Names = {"first", std::string(100, 'x')};
  EXPECT_EQ(
      allocationsOf([&](int) {
        R.populateFeatures(
            std::pair{"name", "a name that is too long to be inline"},
            std::pair<const char *, const decltype(Names) &>("names", Names));
        ASSERT_TRUE(R.evaluate<int>());
      }),
      0u);
}

TEST(AllocationTest, FallbacksOfAClosedModelAllocateNothing) {
  Expected<Model> M =
      Model::open("heuristic:", {features(), TensorSpec::create<int>("d")});
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  EXPECT_EQ(allocationsOf([&](int Round) {
              R.populateFeatures(std::pair{"count", Round});
              ASSERT_EQ(R.evaluateOr<int>([] { return 7; }), 7);
              ASSERT_TRUE(R.reward(1).ok());
            }),
            0u);
}

TEST(AllocationTest, RecordingAllocatesNothing) {
  std::string Folder = *os::makePrivateDirectory();
  Registry Schemes = testScheme([](const TensorStorage &, TensorStorage &,
                                   const Call &) { return Status(); });
  for (std::string_view Scheme : {"test", "heuristic"}) {
    Expected<Model> M =
        Model::open(std::string(Scheme) + ":?record=" + Folder,
                    {features(), TensorSpec::create<int64_t>("d")},
                    Scheme == "test" ? Schemes : Registry::builtin());
    ASSERT_TRUE(M) << M.status().toString();
    MLModelRunner R = M->runner();
    const std::vector<std::string> Names = {"first", std::string(100, 'x')};
    EXPECT_EQ(
        allocationsOf([&](int Round) {
          R.switchContext(Round % 2 ? "a_rather_long_name_of_a_function"
                                    : "main");
          R.resize(1, {Round % 2 + 1, 4});
          R.populateFeatures(
              std::pair{"count", Round},
              std::pair<const char *, const decltype(Names) &>("names", Names));
          (void)R.evaluateOr<int>([] { return 7; });
          ASSERT_TRUE(R.reward(1).ok());
          (void)R.evaluateOr<int>([] { return 7; });
        }),
        0u)
        << Scheme;
  }
  for (const auto &Log : std::filesystem::directory_iterator(Folder))
    EXPECT_GT(Log.file_size(), 5000u);
  std::filesystem::remove_all(Folder);
}

TEST(AllocationTest, MessagesOfNumbersAllocateNothing) {
  for (std::string_view Name : serializerNames()) {
    auto Specs = std::make_shared<std::vector<TensorSpec>>(
        features().begin(), features().begin() + 3);
    std::unique_ptr<Serializer> S = *makeSerializer(Name);
    TensorStorage Tensors(*Specs);
    DecodedTensors Decoded(Specs);
    Message Encoded;
    std::vector<unsigned char> Payload;
    EXPECT_EQ(allocationsOf([&](int Round) {
                ASSERT_TRUE(Tensors.resize(1, {Round % 3, 4}).ok());
                ASSERT_TRUE(S->encode(Tensors.views(), Encoded).ok());
                Payload.assign(Encoded.own().begin(), Encoded.own().end());
                for (Bytes Piece : Encoded.lent())
                  Payload.insert(Payload.end(), Piece.begin(), Piece.end());
                ASSERT_TRUE(S->decode(Payload, Decoded).ok());
              }),
              0u)
        << Name;
  }
}

TEST(AllocationTest, DecisionsOfCompiledModelsAllocateNothing) {
  Expected<Model> M = Model::open(
      "native:" CBRIDGE_NATIVE_ROWS "?on_error=fail",
      {{TensorSpec::create<float>("rows", {Dynamic, 3}),
        TensorSpec::create<int64_t>("factor", {Dynamic}),
        TensorSpec::create<float>("unknown", {Dynamic})},
       std::vector{TensorSpec::create<float>("sum", {3}),
                   TensorSpec::create<float>("twice", {Dynamic, 3})}});
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner R = M->runner();
  std::vector<float> Rows(30);
  std::vector<int64_t> Factors(10);
  EXPECT_EQ(
      allocationsOf([&](int Round) {
        size_t Count = Round % 2 ? 10 : 3;
        R.populateFeatures(
            std::pair{"rows", Span<const float>(Rows.data(), Count * 3)},
            std::pair{"unknown", Span<const float>(Rows)},
            std::pair{"factor", Span<const int64_t>(Factors.data(), Count)});
        Expected<Decision> D = R.evaluate();
        ASSERT_TRUE(D) << D.status().toString();
        ASSERT_EQ(D->get<Span<const float>>("twice")->size(), Count * 6);
      }),
      0u);
}

/// Neither end allocates once sizes have been reached.
static void expectNoAllocations(const std::string &Address,
                                std::string_view Serdes, bool Lend) {
  PeerOptions Options;
  Options.Sessions = 1;
  Options.Lend = Lend;
  Peer P = *Peer::open(Address, Options);
  std::thread Answering([&] {
    // As Python does: the previous request is still held when the next comes.
    std::shared_ptr<const Request> Held;
    while (auto R = P.next(Deadline::in(std::chrono::seconds(20)))) {
      Held = *R;
      if (!Held->done())
        (void)P.reply();
    }
  });
  {
    Signature Sig({features().begin(), features().begin() + 3},
                  TensorSpec::create<int64_t>("y"));
    Expected<Model> M =
        Model::open(Address + "?serdes=" + std::string(Serdes), Sig);
    MLModelRunner R = M->runner();
    std::vector<float> Rows(4000);
    EXPECT_EQ(allocationsOf([&](int Round) {
                Rows.resize(Round % 2 ? 4000 : 40);
                R.populateFeatures(
                    std::pair{"count", Round},
                    std::pair{"embedding", Span<const float>(Rows)});
                ASSERT_TRUE(R.evaluate<int64_t>().ok());
                ASSERT_TRUE(R.reward(Round).ok());
              }),
              0u)
        << Address << " " << Serdes << " " << Lend;
  }
  Answering.join();
}

TEST(AllocationTest, NeitherEndOfAChannelAllocates) {
  std::string Folder = *os::makePrivateDirectory();
  for (std::string_view Serdes : serializerNames())
    for (std::string_view Channel : {"pipe:", "shm:"})
      for (bool Lend : {false, true})
        expectNoAllocations(std::string(Channel) + Folder + "/base", Serdes,
                            Lend);
  ::rmdir(Folder.c_str());
}
