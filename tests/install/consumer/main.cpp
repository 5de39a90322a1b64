#include <cbridge/MLModelRunner.h>

#include <cstdint>
#include <cstdio>
#include <utility>

int main() {
  cbridge::Signature Sig(
      {cbridge::TensorSpec::create<int64_t>("trip_count", {1})},
      {cbridge::TensorSpec::create<int64_t>("unroll", {1})});
  auto Model = cbridge::Model::open("constant:4", Sig);
  if (!Model) {
    std::fprintf(stderr, "%s\n", Model.status().message().c_str());
    return 1;
  }
  auto Runner = Model->runner();
  Runner.populateFeatures(std::pair{"trip_count", 128});
  return Runner.evaluateOr<int64_t>([] { return 1; }) == 4 ? 0 : 1;
}
