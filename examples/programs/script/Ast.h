//===- Ast.h - A script as a tree -------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef SCRIPT_AST_H
#define SCRIPT_AST_H

#include "Value.h"

namespace script {

class Scope;

struct Expr {
  explicit Expr(int Line) : Line(Line) {}
  virtual ~Expr() = default;
  virtual Value eval(Scope &Vars) const = 0;
  /// Only names, elements and members can be assigned to.
  virtual void assign(Scope &Vars, Value New) const;
  int Line;
};

/// How a statement ended.
enum class Flow { Normal, Break, Return };

struct Stmt {
  explicit Stmt(int Line) : Line(Line) {}
  virtual ~Stmt() = default;
  virtual Flow run(Scope &Vars, Value &Result) const = 0;
  int Line;
};

using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

Flow runBlock(const Block &Statements, Scope &Vars, Value &Result);

struct Constant : Expr {
  Constant(int Line, Value Const) : Expr(Line), Const(std::move(Const)) {}
  Value eval(Scope &Vars) const override;
  Value Const;
};

struct Variable : Expr {
  Variable(int Line, std::string Name) : Expr(Line), Name(std::move(Name)) {}
  Value eval(Scope &Vars) const override;
  void assign(Scope &Vars, Value New) const override;
  std::string Name;
};

struct Unary : Expr {
  Unary(int Line, bool Not, ExprPtr Operand)
      : Expr(Line), Not(Not), Operand(std::move(Operand)) {}
  Value eval(Scope &Vars) const override;
  bool Not;
  ExprPtr Operand;
};

struct Binary : Expr {
  Binary(int Line, std::string Operator, ExprPtr Left, ExprPtr Right)
      : Expr(Line), Operator(std::move(Operator)), Left(std::move(Left)),
        Right(std::move(Right)) {}
  Value eval(Scope &Vars) const override;
  std::string Operator;
  ExprPtr Left, Right;
};

struct Index : Expr {
  Index(int Line, ExprPtr Object, ExprPtr Key)
      : Expr(Line), Object(std::move(Object)), Key(std::move(Key)) {}
  Value eval(Scope &Vars) const override;
  void assign(Scope &Vars, Value New) const override;
  ExprPtr Object, Key;
};

struct Call : Expr {
  Call(int Line, ExprPtr Callee) : Expr(Line), Callee(std::move(Callee)) {}
  Value eval(Scope &Vars) const override;
  ExprPtr Callee;
  std::vector<ExprPtr> Arguments;
};

struct ListMaker : Expr {
  using Expr::Expr;
  Value eval(Scope &Vars) const override;
  std::vector<ExprPtr> Items;
};

struct MapMaker : Expr {
  using Expr::Expr;
  Value eval(Scope &Vars) const override;
  std::vector<std::pair<std::string, ExprPtr>> Entries;
};

struct FunctionMaker : Expr {
  using Expr::Expr;
  Value eval(Scope &Vars) const override;
  std::string Name;
  std::vector<std::string> Parameters;
  Block Body;
};

struct Evaluate : Stmt {
  Evaluate(int Line, ExprPtr Body) : Stmt(Line), Body(std::move(Body)) {}
  Flow run(Scope &Vars, Value &Result) const override;
  ExprPtr Body;
};

struct Define : Stmt {
  Define(int Line, std::string Name, ExprPtr Initial)
      : Stmt(Line), Name(std::move(Name)), Initial(std::move(Initial)) {}
  Flow run(Scope &Vars, Value &Result) const override;
  std::string Name;
  ExprPtr Initial;
};

struct Assign : Stmt {
  Assign(int Line, ExprPtr Target, ExprPtr New)
      : Stmt(Line), Target(std::move(Target)), New(std::move(New)) {}
  Flow run(Scope &Vars, Value &Result) const override;
  ExprPtr Target, New;
};

struct If : Stmt {
  using Stmt::Stmt;
  Flow run(Scope &Vars, Value &Result) const override;
  ExprPtr Condition;
  Block Then, Else;
};

struct While : Stmt {
  using Stmt::Stmt;
  Flow run(Scope &Vars, Value &Result) const override;
  ExprPtr Condition;
  Block Body;
};

struct ForEach : Stmt {
  using Stmt::Stmt;
  Flow run(Scope &Vars, Value &Result) const override;
  std::string Name;
  ExprPtr Items;
  Block Body;
};

struct Try : Stmt {
  using Stmt::Stmt;
  Flow run(Scope &Vars, Value &Result) const override;
  Block Body, Handler;
  std::string Name;
};

struct Leave : Stmt {
  Leave(int Line, Flow How) : Stmt(Line), How(How) {}
  Flow run(Scope &Vars, Value &Result) const override;
  Flow How;
  ExprPtr Result; ///< Of a return; may be null.
};

} // namespace script

#endif
