//===- Interpreter.cpp - Running the tree ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Ast.h"
#include "Scope.h"

#include <cmath>

namespace script {
namespace {

/// A scope for one call, also if it ends by an exception.
class CallScope {
public:
  CallScope(Scope &Parent, int Line) : Owner(Parent.heap()) {
    Vars = &Owner.make(&Parent);
    try {
      Owner.enter(Line);
    } catch (...) {
      Owner.leave(*Vars);
      throw;
    }
  }
  ~CallScope() { Owner.leave(*Vars); }
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;
  Scope &vars() { return *Vars; }

private:
  Heap &Owner;
  Scope *Vars;
};

class Closure : public Callable {
public:
  Closure(const FunctionMaker &Code, Scope &Outer) : Code(Code), Outer(Outer) {
    Outer.keep();
  }

  Value call(std::vector<Value> &Arguments, int Line) override {
    if (Arguments.size() != Code.Parameters.size())
      throw Error(
          Line, Code.Name + " takes " + std::to_string(Code.Parameters.size()) +
                    " arguments, not " + std::to_string(Arguments.size()));
    CallScope Local(Outer, Line);
    for (size_t I = 0; I < Arguments.size(); ++I)
      Local.vars().define(Code.Parameters[I], std::move(Arguments[I]));
    Value Result;
    runBlock(Code.Body, Local.vars(), Result);
    return Result;
  }

  const std::string &name() const override { return Code.Name; }

private:
  const FunctionMaker &Code;
  Scope &Outer;
};

Value add(const Value &Left, const Value &Right, int Line) {
  if (Left.isText() || Right.isText())
    return Left.str() + Right.str();
  if (Left.isList()) {
    List Joined = Left.list(Line);
    const List &Tail = Right.list(Line);
    Joined.insert(Joined.end(), Tail.begin(), Tail.end());
    return Joined;
  }
  return Left.number(Line) + Right.number(Line);
}

double divisor(const Value &Right, int Line) {
  double Number = Right.number(Line);
  if (Number == 0)
    throw Error(Line, "division by zero");
  return Number;
}

/// Negative, zero or positive, for two numbers or two texts.
int compare(const Value &Left, const Value &Right, int Line) {
  if (Left.isText())
    return Left.text(Line).compare(Right.text(Line));
  double A = Left.number(Line), B = Right.number(Line);
  return A < B ? -1 : A > B;
}

Value apply(const std::string &Op, const Value &Left, const Value &Right,
            int Line) {
  if (Op == "==")
    return Left == Right;
  if (Op == "!=")
    return Left != Right;
  if (Op == "<")
    return compare(Left, Right, Line) < 0;
  if (Op == "<=")
    return compare(Left, Right, Line) <= 0;
  if (Op == ">")
    return compare(Left, Right, Line) > 0;
  if (Op == ">=")
    return compare(Left, Right, Line) >= 0;
  if (Op == "+")
    return add(Left, Right, Line);
  if (Op == "-")
    return Left.number(Line) - Right.number(Line);
  if (Op == "*")
    return Left.number(Line) * Right.number(Line);
  if (Op == "/")
    return Left.number(Line) / divisor(Right, Line);
  return std::fmod(Left.number(Line), divisor(Right, Line));
}

Value &element(List &Items, const Value &Key, int Line) {
  double Place = Key.number(Line);
  if (!(Place >= 0) || Place >= static_cast<double>(Items.size()))
    throw Error(Line, "no element " + Key.str() + " in a list of " +
                          std::to_string(Items.size()));
  return Items[static_cast<size_t>(Place)];
}

List itemsOf(const Value &Source, int Line) {
  if (!Source.isMap())
    return Source.list(Line);
  List Keys;
  for (const auto &Entry : Source.map(Line))
    Keys.push_back(Entry.first);
  return Keys;
}

} // namespace

void Expr::assign(Scope &, Value) const {
  throw Error(Line, "this cannot be assigned to");
}

Flow runBlock(const Block &Statements, Scope &Vars, Value &Result) {
  for (const StmtPtr &Each : Statements)
    if (Flow How = Each->run(Vars, Result); How != Flow::Normal)
      return How;
  return Flow::Normal;
}

Value Constant::eval(Scope &) const { return Const; }

Value Variable::eval(Scope &Vars) const {
  if (Value *Found = Vars.find(Name))
    return *Found;
  throw Error(Line, "no variable '" + Name + "'");
}

void Variable::assign(Scope &Vars, Value New) const {
  Value *Found = Vars.find(Name);
  if (!Found)
    throw Error(Line, "no variable '" + Name + "' to assign to");
  *Found = std::move(New);
}

Value Unary::eval(Scope &Vars) const {
  Value Inner = Operand->eval(Vars);
  if (Not)
    return !Inner.isTrue();
  return -Inner.number(Line);
}

Value Binary::eval(Scope &Vars) const {
  Value First = Left->eval(Vars);
  if (Operator == "and")
    return First.isTrue() ? Right->eval(Vars) : First;
  if (Operator == "or")
    return First.isTrue() ? First : Right->eval(Vars);
  return apply(Operator, First, Right->eval(Vars), Line);
}

Value Index::eval(Scope &Vars) const {
  Value Whole = Object->eval(Vars), Part = Key->eval(Vars);
  if (Whole.isMap()) {
    Map &Entries = Whole.map(Line);
    auto Found = Entries.find(Part.text(Line));
    return Found == Entries.end() ? Value() : Found->second;
  }
  if (Whole.isText()) {
    List Characters;
    for (char C : Whole.text(Line))
      Characters.push_back(std::string(1, C));
    return element(Characters, Part, Line);
  }
  return element(Whole.list(Line), Part, Line);
}

void Index::assign(Scope &Vars, Value New) const {
  Value Whole = Object->eval(Vars), Part = Key->eval(Vars);
  if (Whole.isMap())
    Whole.map(Line)[Part.text(Line)] = std::move(New);
  else
    element(Whole.list(Line), Part, Line) = std::move(New);
}

Value Call::eval(Scope &Vars) const {
  Value Function = Callee->eval(Vars);
  std::vector<Value> Values;
  Values.reserve(Arguments.size());
  for (const ExprPtr &Argument : Arguments)
    Values.push_back(Argument->eval(Vars));
  return Function.function(Line).call(Values, Line);
}

Value ListMaker::eval(Scope &Vars) const {
  List Result;
  for (const ExprPtr &Item : Items)
    Result.push_back(Item->eval(Vars));
  return Result;
}

Value MapMaker::eval(Scope &Vars) const {
  Map Result;
  for (const auto &[Key, Item] : Entries)
    Result[Key] = Item->eval(Vars);
  return Result;
}

Value FunctionMaker::eval(Scope &Vars) const {
  return std::shared_ptr<Callable>(std::make_shared<Closure>(*this, Vars));
}

Flow Evaluate::run(Scope &Vars, Value &) const {
  Body->eval(Vars);
  return Flow::Normal;
}

Flow Define::run(Scope &Vars, Value &) const {
  Vars.define(Name, Initial->eval(Vars));
  return Flow::Normal;
}

Flow Assign::run(Scope &Vars, Value &) const {
  Target->assign(Vars, New->eval(Vars));
  return Flow::Normal;
}

Flow If::run(Scope &Vars, Value &Result) const {
  return runBlock(Condition->eval(Vars).isTrue() ? Then : Else, Vars, Result);
}

Flow While::run(Scope &Vars, Value &Result) const {
  while (Condition->eval(Vars).isTrue()) {
    Flow How = runBlock(Body, Vars, Result);
    if (How == Flow::Break)
      break;
    if (How == Flow::Return)
      return How;
  }
  return Flow::Normal;
}

Flow ForEach::run(Scope &Vars, Value &Result) const {
  // A copy: the body may change the list.
  for (const Value &Item : itemsOf(Items->eval(Vars), Line)) {
    Vars.define(Name, Item);
    Flow How = runBlock(Body, Vars, Result);
    if (How == Flow::Break)
      break;
    if (How == Flow::Return)
      return How;
  }
  return Flow::Normal;
}

Flow Try::run(Scope &Vars, Value &Result) const {
  try {
    return runBlock(Body, Vars, Result);
  } catch (const Error &Caught) {
    Vars.define(Name, Caught.what());
  }
  return runBlock(Handler, Vars, Result);
}

Flow Leave::run(Scope &Vars, Value &Returned) const {
  if (Result)
    Returned = Result->eval(Vars);
  return How;
}

} // namespace script
