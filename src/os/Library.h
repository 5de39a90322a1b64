//===- Library.h - Shared libraries that are loaded on demand ---*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_LIBRARY_H
#define CBRIDGE_OS_LIBRARY_H

#include <cbridge/Expected.h>

#include <string>
#include <vector>

namespace cbridge::os {

/// What a library finds first, where the program has a symbol of the same name.
enum class Binding { ToProgram, ToItself };

/// Loads a shared library, whose symbols others do not see, for the rest of the
/// process. The message of a failure need not name it.
Expected<void *> loadLibrary(const std::string &File,
                             Binding B = Binding::ToProgram);
/// Whether a file is one that may be loaded: a FIFO would keep us waiting, and
/// one that is cut off would end the process with SIGBUS.
Status checkLibrary(const std::string &File);
/// Null if it has none of that name.
void *librarySymbol(void *Library, const char *Name);
/// Where the library lies that has this symbol; empty if that is unknown.
std::string libraryFile(const void *Symbol);

/// The folder of the library or program that contains this function, with a
/// slash at the end.
std::string ownFolder();
/// Where libraries of ours are: near that one, then CBRIDGE_MODULE_PATH.
/// Absolute.
std::vector<std::string> libraryPlaces();

} // namespace cbridge::os

#endif // CBRIDGE_OS_LIBRARY_H
