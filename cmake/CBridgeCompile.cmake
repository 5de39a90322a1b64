# Compiler launcher, sanitizers and warnings.

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CBRIDGE_CCACHE ccache)
  mark_as_advanced(CBRIDGE_CCACHE)
  if(CBRIDGE_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER "${CBRIDGE_CCACHE}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CBRIDGE_CCACHE}")
  endif()
endif()

if(CBRIDGE_SANITIZE)
  add_compile_options(-fsanitize=${CBRIDGE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CBRIDGE_SANITIZE})
  if(CBRIDGE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
    add_link_options(-fno-sanitize-recover=all)
  endif()
endif()

# A decision over shared memory crosses many small functions. Not for what is installed: each link of
# a static library with such objects takes seconds, whether its user wants that or not.
if(CBRIDGE_LTO)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-flto=auto -ffat-lto-objects)
    add_link_options(-flto=auto)
  else()
    message(STATUS "CBRIDGE_LTO is for GCC, not ${CMAKE_CXX_COMPILER_ID}: not used")
  endif()
endif()

if(CBRIDGE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CBRIDGE_BUILD_FUZZERS needs clang, not ${CMAKE_CXX_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Shadowing a member or a type is the LLVM idiom (`Foo(int X) : X(X)`), shadowing a local is a
# mistake; only GCC can tell them apart.
set(CBRIDGE_WARNING_FLAGS
  -Wall -Wextra -Wpedantic -Wundef -Wvla -Wwrite-strings -Wformat=2
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wimplicit-fallthrough>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)

# cbridge_warnings(target): the warnings of our own code; errors if CBRIDGE_WERROR.
function(cbridge_warnings Target)
  target_compile_options(${Target} PRIVATE ${CBRIDGE_WARNING_FLAGS})
  if(CBRIDGE_WERROR)
    target_compile_options(${Target} PRIVATE -Werror)
  endif()
endfunction()
