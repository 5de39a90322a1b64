//===- TfModule.h - A module around a TensorFlow AOT class ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What cbridge_add_tf_model compiles beside a class that TensorFlow's
// `saved_model_cli aot_compile_cpu` has made. Only the file that it generates
// includes this.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TFMODULE_H
#define CBRIDGE_TFMODULE_H

#include <cbridge/module.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cbridge::tf {

/// An input or output as the saved model's signature has it.
struct Tensor {
  const char *Name;
  int32_t Type; ///< CBRIDGE_INT64 and so on
  std::vector<int64_t> Shape;
};

inline std::string typeAndShape(int32_t Type, const int64_t *Shape,
                                size_t Rank) {
  static const char *const Names[] = {
      "bool",     "int8_t",   "int16_t",  "int32_t", "int64_t", "uint8_t",
      "uint16_t", "uint32_t", "uint64_t", "float",   "double",  "string"};
  std::string Text = Type >= 0 && Type <= CBRIDGE_STRING ? Names[Type] : "?";
  for (size_t D = 0; D < Rank; ++D)
    Text += (D ? "," : "[") +
            (Shape[D] < 0 ? std::string("?") : std::to_string(Shape[D]));
  return Rank ? Text + "]" : Text;
}

inline size_t sizeOf(int32_t Type) {
  static const size_t Sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 0};
  return Type >= 0 && Type <= CBRIDGE_STRING ? Sizes[Type] : 0;
}

/// What TensorFlow puts in front of the names of inputs.
constexpr std::string_view Prefixes[] = {"action_", "serving_default_"};

inline std::string_view withoutPrefix(std::string_view Name) {
  for (std::string_view Prefix : Prefixes)
    if (Name.size() > Prefix.size() && Name.substr(0, Prefix.size()) == Prefix)
      return Name.substr(Prefix.size());
  return Name;
}

inline std::string_view nameOf(const cbridge_spec &Spec) {
  return {Spec.name.data, Spec.name.size};
}

/// Whether shapes are equal but for leading extents of 1 and dynamic ones.
inline bool fit(const int64_t *A, size_t RankA, const int64_t *B,
                size_t RankB) {
  for (size_t I = 0; I < std::max(RankA, RankB); ++I) {
    int64_t OfA = I < RankA ? A[RankA - 1 - I] : 1;
    int64_t OfB = I < RankB ? B[RankB - 1 - I] : 1;
    if (OfA != OfB && OfA >= 0 && OfB >= 0)
      return false;
  }
  return true;
}

inline cbridge_code report(cbridge_code Code, const std::string &Why,
                           cbridge_error *Error) {
  size_t Size = std::min(Why.size(), sizeof(Error->message) - 1);
  std::memcpy(Error->message, Why.data(), Size);
  Error->message[Size] = 0;
  return Code;
}

/// Which of the pass's tensors the model has. Names all that does not fit.
class Fit {
public:
  static constexpr size_t None = size_t(-1);
  std::vector<size_t> OfInput, OfOutput; ///< the model's, or None

  Fit(const cbridge_signature &Pass, const std::vector<Tensor> &Inputs,
      const std::vector<Tensor> &Outputs) {
    OfInput.assign(Pass.input_count, None);
    for (size_t I = 0; I < Inputs.size(); ++I) {
      size_t P = find(Pass.inputs, Pass.input_count, Inputs[I].Name);
      if (P == None)
        complain(CBRIDGE_UNSUPPORTED, "input", Inputs[I].Name,
                 "the model wants " + shown(Inputs[I]) +
                     ", the pass has no such feature");
      else if (matches("input", Pass.inputs[P], Inputs[I], "wants", "gives"))
        OfInput[P] = I;
    }
    for (size_t P = 0; P < Pass.output_count; ++P) {
      const cbridge_spec &Wanted = Pass.outputs[P];
      OfOutput.push_back(None);
      for (size_t I = 0; I < Outputs.size(); ++I)
        if (nameOf(Wanted) == Outputs[I].Name)
          OfOutput[P] = I;
      if (OfOutput[P] != None)
        matches("output", Wanted, Outputs[OfOutput[P]], "gives", "wants");
      else
        complain(CBRIDGE_UNSUPPORTED, "output", nameOf(Wanted),
                 "the pass wants it, the model has " + listed(Outputs));
    }
  }
  cbridge_code Code = CBRIDGE_OK;
  std::string Why;

private:
  static std::string shown(const Tensor &T) {
    return typeAndShape(T.Type, T.Shape.data(), T.Shape.size());
  }
  static std::string listed(const std::vector<Tensor> &All) {
    std::string Names;
    for (const Tensor &Each : All)
      Names += (Names.empty() ? "'" : ", '") + std::string(Each.Name) + "'";
    return Names.empty() ? "none" : Names;
  }
  /// By the name itself, or without what TensorFlow puts in front.
  static size_t find(const cbridge_spec *Specs, size_t Count,
                     std::string_view Name) {
    for (std::string_view Each : {Name, withoutPrefix(Name)})
      for (size_t I = 0; I < Count; ++I)
        if (nameOf(Specs[I]) == Each)
          return I;
    return None;
  }
  void complain(cbridge_code Because, const char *Side, std::string_view Name,
                const std::string &What) {
    Code = Code == CBRIDGE_OK ? Because : Code;
    Why += (Why.empty() ? "" : "; ") + std::string(Side) + " '" +
           std::string(Name) + "': " + What;
  }
  bool matches(const char *Side, const cbridge_spec &Pass, const Tensor &Model,
               const char *ModelVerb, const char *PassVerb) {
    bool SameType = Pass.type == Model.Type;
    if (SameType &&
        fit(Pass.shape, Pass.rank, Model.Shape.data(), Model.Shape.size()))
      return true;
    complain(SameType ? CBRIDGE_SHAPE_MISMATCH : CBRIDGE_TYPE_MISMATCH, Side,
             nameOf(Pass),
             std::string("the model ") + ModelVerb + " " + shown(Model) +
                 ", the pass " + PassVerb + " " +
                 typeAndShape(Pass.type, Pass.shape, Pass.rank));
    return false;
  }
};

/// The runner type `tf` of a class that TensorFlow has compiled. Its inputs are
/// lent as they lie in its instances, of which every runner has one.
template <typename Compiled> class Exported {
public:
  /// Describes it; what the compiler has found to be without use is left out.
  Exported(std::vector<Tensor> Inputs, std::vector<Tensor> Outputs)
      : Outputs(std::move(Outputs)) {
    Compiled Probe;
    for (Tensor &Each : Inputs) {
      int Arg = Probe.LookupArgIndex("feed_" + std::string(Each.Name));
      if (Arg < 0)
        continue;
      Args.push_back(Arg);
      this->Inputs.push_back(std::move(Each));
    }
    for (const Tensor &Each : this->Outputs)
      Results.push_back(
          Probe.LookupResultIndex("fetch_" + std::string(Each.Name)));
    Type.size = sizeof(Type);
    Type.scheme = "tf";
    Type.help = "tf:FILE.so evaluates a model that TensorFlow has compiled";
    Type.open = open;
    Type.close = [](void *M) { delete static_cast<Model *>(M); };
    Type.new_runner = newRunner;
    Type.delete_runner = [](void *R) { delete static_cast<Runner *>(R); };
    Type.run = run;
    Type.output = output;
    Type.input = input;
    Type.resize = resize;
    Type.set_strings = [](void *, size_t, const cbridge_text *, size_t,
                          const int64_t *, cbridge_error *) -> cbridge_code {
      return CBRIDGE_OK; // no model of TensorFlow's that we can compile reads
                         // it
    };
    Type.describe = describe;
  }

  /// What a module exports, made once and never destroyed.
  static const cbridge_module *make(std::vector<Tensor> (*Inputs)(),
                                    std::vector<Tensor> (*Outputs)()) {
    cbridge_error Ignored;
    (void)guarded(&Ignored, [&]() -> cbridge_code {
      only() = new Exported(Inputs(), Outputs());
      return CBRIDGE_OK;
    });
    return only() ? only()->module() : nullptr;
  }

private:
  static Exported *&only() {
    static Exported *Only = nullptr;
    return Only;
  }
  const cbridge_module *module() {
    Runners[0] = &Type;
    Table = {
        sizeof(Table), CBRIDGE_MODULE_VERSION, "tf", Runners, nullptr, nullptr,
        nullptr};
    return &Table;
  }

  struct Model {
    const cbridge_signature *Pass;
    Fit Of;
    std::vector<std::vector<int64_t>> Extents; // of outputs, as the pass sees
  };
  struct Runner {
    explicit Runner(const Model &Of) : Of(Of), Scratch(Of.Pass->input_count) {}
    const Model &Of;
    Compiled Class;
    /// For features that the model does not know, and for those that have
    /// other extents than it takes, which fail decisions until they change.
    std::vector<std::vector<double>> Scratch;
    std::vector<size_t> ScratchSize;
    std::vector<std::string> Wrong; // why, of each feature; or empty
    size_t WrongCount = 0;
  };
  static Runner &get(void *R) { return *static_cast<Runner *>(R); }

  /// Calls Body; no exception gets out.
  template <typename Callable>
  static cbridge_code guarded(cbridge_error *Error, Callable Body) noexcept {
#if defined(__cpp_exceptions)
    try {
      return Body();
    } catch (const char *Why) { // a check of TensorFlow's: cbridge_tf.h
      return report(CBRIDGE_MODEL_ERROR, Why, Error);
    } catch (...) {
      return report(CBRIDGE_OUT_OF_MEMORY, "no memory for the model", Error);
    }
#else
    (void)Error;
    return Body();
#endif
  }

  static cbridge_code describe(cbridge_address *,
                               void (*Tell)(void *, const cbridge_signature *),
                               void *To, cbridge_error *Error) {
    return guarded(Error, [&]() -> cbridge_code {
      std::vector<cbridge_spec> In, Out;
      for (const Tensor &Each : only()->Inputs)
        In.push_back(spec(Each, withoutPrefix(Each.Name)));
      for (const Tensor &Each : only()->Outputs)
        Out.push_back(spec(Each, Each.Name));
      cbridge_signature Own = {sizeof(Own), In.data(), Out.data(), In.size(),
                               Out.size()};
      Tell(To, &Own);
      return CBRIDGE_OK;
    });
  }
  static cbridge_spec spec(const Tensor &Of, std::string_view Name) {
    return {{Name.data(), Name.size()},
            Of.Type,
            uint32_t(Of.Shape.size()),
            Of.Shape.data()};
  }

  static cbridge_code open(cbridge_address *, const cbridge_signature *Pass,
                           void **To, cbridge_error *Error) {
    return guarded(Error, [&]() -> cbridge_code {
      Exported &E = *only();
      for (size_t I = 0; I < E.Results.size(); ++I)
        if (E.Results[I] < 0)
          return report(CBRIDGE_UNSUPPORTED,
                        std::string("output '") + E.Outputs[I].Name +
                            "' is not in what TensorFlow has compiled",
                        Error);
      auto Made = std::make_unique<Model>(
          Model{Pass, Fit(*Pass, E.Inputs, E.Outputs), {}});
      if (Made->Of.Code != CBRIDGE_OK)
        return report(Made->Of.Code, Made->Of.Why, Error);
      for (size_t P = 0; P < Pass->output_count; ++P) {
        const std::vector<int64_t> &Shape =
            E.Outputs[Made->Of.OfOutput[P]].Shape;
        std::vector<int64_t> Extents(Pass->outputs[P].rank, 1);
        for (size_t D = 1; D <= std::min(Shape.size(), Extents.size()); ++D)
          Extents[Extents.size() - D] = Shape[Shape.size() - D];
        Made->Extents.push_back(std::move(Extents));
      }
      *To = Made.release();
      return CBRIDGE_OK;
    });
  }

  static cbridge_code newRunner(void *M, void **To, cbridge_error *Error) {
    return guarded(Error, [&]() -> cbridge_code {
      const Model &Of = *static_cast<Model *>(M);
      auto Made = std::make_unique<Runner>(Of);
      Made->ScratchSize.assign(Of.Pass->input_count, 0);
      Made->Wrong.resize(Of.Pass->input_count);
      for (size_t I = 0; I < Of.Pass->input_count; ++I) {
        const cbridge_spec &Spec = Of.Pass->inputs[I];
        if (size_t Theirs = Of.Of.OfInput[I]; Theirs != Fit::None)
          // Features are 0 until somebody fills them.
          std::memset(Made->Class.arg_data(only()->Args[Theirs]), 0,
                      size_t(Made->Class.arg_size(only()->Args[Theirs])));
        std::vector<int64_t> Extents(Spec.shape, Spec.shape + Spec.rank);
        for (int64_t &Each : Extents)
          Each = std::max(Each, int64_t(0));
        setExtents(*Made, I, Extents.data());
      }
      *To = Made.release();
      return CBRIDGE_OK;
    });
  }

  static void setExtents(Runner &R, size_t I, const int64_t *Extents) {
    const cbridge_spec &Spec = R.Of.Pass->inputs[I];
    R.WrongCount -= !R.Wrong[I].empty();
    R.Wrong[I].clear();
    if (size_t Theirs = R.Of.Of.OfInput[I]; Theirs != Fit::None) {
      const Tensor &Wanted = only()->Inputs[Theirs];
      if (fit(Extents, Spec.rank, Wanted.Shape.data(), Wanted.Shape.size()))
        return;
      R.Wrong[I] =
          "input '" + std::string(nameOf(Spec)) + "': the model wants " +
          typeAndShape(Wanted.Type, Wanted.Shape.data(), Wanted.Shape.size()) +
          ", the pass gives " + typeAndShape(Spec.type, Extents, Spec.rank);
      ++R.WrongCount;
    }
    size_t Size = sizeOf(Spec.type);
    for (size_t D = 0; D < Spec.rank; ++D)
      Size *= size_t(Extents[D]);
    if (R.Scratch[I].size() * sizeof(double) < Size)
      R.Scratch[I].resize((Size + sizeof(double) - 1) / sizeof(double));
    R.ScratchSize[I] = Size;
  }

  static cbridge_code input(void *Handle, size_t I, void **Data, size_t *Size,
                            cbridge_error *) {
    Runner &R = get(Handle);
    size_t Theirs = R.Of.Of.OfInput[I];
    if (Theirs == Fit::None || !R.Wrong[I].empty()) {
      *Data = R.Scratch[I].data();
      *Size = R.ScratchSize[I];
    } else {
      *Data = R.Class.arg_data(only()->Args[Theirs]);
      *Size = size_t(R.Class.arg_size(only()->Args[Theirs]));
    }
    return CBRIDGE_OK;
  }

  static cbridge_code resize(void *Handle, size_t I, const int64_t *Extents,
                             cbridge_error *Error) {
    return guarded(Error, [&]() -> cbridge_code {
      setExtents(get(Handle), I, Extents);
      return CBRIDGE_OK;
    });
  }

  static cbridge_code run(void *Handle, const cbridge_call *,
                          cbridge_error *Error) {
    return guarded(Error, [&]() -> cbridge_code {
      Runner &R = get(Handle);
      for (size_t I = 0; R.WrongCount && I < R.Wrong.size(); ++I)
        if (!R.Wrong[I].empty())
          return report(CBRIDGE_SHAPE_MISMATCH, R.Wrong[I], Error);
      return R.Class.Run()
                 ? CBRIDGE_OK
                 : report(CBRIDGE_MODEL_ERROR, "the model failed", Error);
    });
  }

  static cbridge_code output(void *Handle, size_t I, cbridge_tensor *To,
                             cbridge_error *) {
    Runner &R = get(Handle);
    int Result = only()->Results[R.Of.Of.OfOutput[I]];
    To->extents = R.Of.Extents[I].data();
    To->data.data = R.Class.result_data(Result);
    To->data.size = size_t(R.Class.result_size(Result));
    return CBRIDGE_OK;
  }

  std::vector<Tensor> Inputs, Outputs;
  std::vector<int> Args, Results; // the compiled class's numbers for them
  cbridge_runner_type Type = {};
  const cbridge_runner_type *Runners[2] = {nullptr, nullptr};
  cbridge_module Table = {};
};

} // namespace cbridge::tf

/// The function that a module exports. Inputs and Outputs give lists of Tensor.
#define CBRIDGE_EXPORT_TF_MODEL(Class, Inputs, Outputs)                        \
  extern "C" const cbridge_module *cbridge_module_v1(                          \
      const cbridge_host *Host) {                                              \
    return Host->version == CBRIDGE_MODULE_VERSION                             \
               ? cbridge::tf::Exported<Class>::make(Inputs, Outputs)           \
               : nullptr;                                                      \
  }

#endif // CBRIDGE_TFMODULE_H
