//===- InferModel.h - A benchmark's model and its answers -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_INFERMODEL_H
#define CBRIDGE_BENCH_INFERMODEL_H

#include <cbridge/Span.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

struct Tensor {
  std::string Name;
  std::vector<int64_t> Shape;
  size_t size() const {
    size_t Size = 1;
    for (int64_t Extent : Shape)
      Size *= size_t(Extent);
    return Size;
  }
};

/// What _infer_models.py wrote into a folder: the signature, a ring of inputs
/// and NumPy's answers.
class InferModel {
public:
  explicit InferModel(const std::string &Folder) {
    std::ifstream Spec(Folder + "/spec.txt");
    for (std::string Line; std::getline(Spec, Line);) {
      std::istringstream Words(Line);
      std::string What;
      Words >> What;
      if (What == "ring")
        Words >> Ring;
      else if (What == "tolerance")
        Words >> Tolerance;
      else
        (What == "input" ? Inputs.emplace_back() : Output) = tensor(Words);
    }
    for (const Tensor &T : Inputs)
      Stride += T.size();
    Floats = read<float>(Folder + "/inputs.bin", Ring * Stride);
    Answers = read<double>(Folder + "/answers.bin", Ring * Output.size());
    for (double Y : Answers)
      Largest = std::max(Largest, std::fabs(Y));
  }

  std::vector<Tensor> Inputs;
  Tensor Output;

  /// All inputs of question Turn, one after the other.
  const float *features(size_t Turn) const {
    return Floats.data() + Turn % Ring * Stride;
  }
  bool isAnswer(size_t Turn, cbridge::Span<const float> Y) const {
    const double *Expected = Answers.data() + Turn % Ring * Output.size();
    bool Right = Y.size() == Output.size();
    for (size_t I = 0; Right && I < Y.size(); ++I)
      Right = std::fabs(double(Y[I]) - Expected[I]) <= Tolerance * Largest;
    return Right;
  }

private:
  static Tensor tensor(std::istream &Words) {
    Tensor T;
    Words >> T.Name;
    for (int64_t Extent; Words >> Extent;)
      T.Shape.push_back(Extent);
    return T;
  }
  template <typename T>
  static std::vector<T> read(const std::string &File, size_t Count) {
    std::vector<T> Values(Count);
    std::ifstream In(File, std::ios::binary);
    if (!Count || !In.read(reinterpret_cast<char *>(Values.data()),
                           std::streamsize(Count * sizeof(T)))) {
      std::fprintf(stderr, "%s: too short\n", File.c_str());
      std::exit(1);
    }
    return Values;
  }

  size_t Ring = 0, Stride = 0;
  double Tolerance = 0, Largest = 0;
  std::vector<float> Floats;
  std::vector<double> Answers;
};

} // namespace bench

#endif // CBRIDGE_BENCH_INFERMODEL_H
