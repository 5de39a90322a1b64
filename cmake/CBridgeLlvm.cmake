# CBRIDGE_WITH_LLVM, CBRIDGE_LLVM_INCLUDE_DIR: the parts that live inside LLVM's tools. LLVM's C++
# interface changes with each release, so that one is meant: what they are built for must run them.
set(CBRIDGE_LLVM_VERSION 19)
find_program(CBRIDGE_LLVM_CONFIG NAMES llvm-config-${CBRIDGE_LLVM_VERSION}
  HINTS /usr/lib/llvm-${CBRIDGE_LLVM_VERSION}/bin DOC "llvm-config of LLVM ${CBRIDGE_LLVM_VERSION}")
mark_as_advanced(CBRIDGE_LLVM_CONFIG)
# Of the tests alone: a plugin lives in a process that has it.
find_library(CBRIDGE_LLVM_LIBRARY LLVM-${CBRIDGE_LLVM_VERSION}
  HINTS /usr/lib/llvm-${CBRIDGE_LLVM_VERSION}/lib DOC "LLVM's shared library")
mark_as_advanced(CBRIDGE_LLVM_LIBRARY)
set(LlvmDefault OFF)
# The tools that load a plugin have no sanitizer.
if(CBRIDGE_LLVM_CONFIG AND NOT CBRIDGE_SANITIZE)
  execute_process(COMMAND "${CBRIDGE_LLVM_CONFIG}" --includedir
    OUTPUT_VARIABLE CBRIDGE_LLVM_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(EXISTS "${CBRIDGE_LLVM_INCLUDE_DIR}/llvm/Passes/PassPlugin.h")
    set(LlvmDefault ON)
  endif()
endif()
option(CBRIDGE_WITH_LLVM "Build the plugin for LLVM ${CBRIDGE_LLVM_VERSION}" ${LlvmDefault})
if(CBRIDGE_WITH_LLVM AND NOT LlvmDefault)
  message(FATAL_ERROR "CBRIDGE_WITH_LLVM needs the headers of LLVM ${CBRIDGE_LLVM_VERSION} "
    "(Debian: llvm-${CBRIDGE_LLVM_VERSION}-dev) and no sanitizer")
endif()

# CBRIDGE_WITH_CLANG: a clang inside a program of ours, for training and search.
find_library(CBRIDGE_CLANG_LIBRARY NAMES libclang-cpp.so.${CBRIDGE_LLVM_VERSION}.1 clang-cpp
  HINTS /usr/lib/llvm-${CBRIDGE_LLVM_VERSION}/lib DOC "clang's shared library")
mark_as_advanced(CBRIDGE_CLANG_LIBRARY)
set(ClangDefault OFF)
if(CBRIDGE_WITH_LLVM AND CBRIDGE_CLANG_LIBRARY AND CBRIDGE_LLVM_LIBRARY
    AND EXISTS "${CBRIDGE_LLVM_INCLUDE_DIR}/clang/FrontendTool/Utils.h")
  set(ClangDefault ON)
endif()
option(CBRIDGE_WITH_CLANG "Build the compile worker" ${ClangDefault})
if(CBRIDGE_WITH_CLANG AND NOT ClangDefault)
  message(FATAL_ERROR "CBRIDGE_WITH_CLANG needs CBRIDGE_WITH_LLVM and the headers of clang "
    "(Debian: libclang-${CBRIDGE_LLVM_VERSION}-dev)")
endif()
