# cbridge_add_model(target model.onnx [NAME Name] [MAX n | MAX N=128 ...] [WEIGHTS embed|file] [FAST]
#   [NAMESPACE ns] [PYTHON interpreter])
# Compiles an ONNX model to C++ when the target is built, and adds it: the runner string `native:Name`
# then works in that program or plugin, and its sources may #include "Name.h". Name: the file's, in
# CamelCase, unless NAME tells. MAX: the largest extents that vary can be, all or each. WEIGHTS file:
# they are in Name.weights, in the folder that is the target's property CBRIDGE_MODEL_DIR, and the
# runner string names them: `native:Name?weights=FILE`. FAST: results may differ in their last bits
# between processors. The target is an executable, or a shared, module or object library of the same
# folder, and links cbridge::core.
#
# cbridge_add_model_module(target model.onnx ...): the same, as a file for `native:FILE.so` that needs
# nothing, target.so.
#
# The interpreter needs the package onnx: PYTHON, or else the variable CBRIDGE_PYTHON, or one that is
# found.

# Sets the caller's Variable to whether an interpreter can compile models.
function(_cbridge_has_onnx Variable Python)
  set(Needed onnx numpy)
  if(NOT EXISTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../python/src/compiler_bridge/codegen")
    list(APPEND Needed compiler_bridge.codegen)
  endif()
  execute_process(COMMAND "${Python}" -c
    "import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, sys.argv[1:])))" ${Needed}
    RESULT_VARIABLE Failed OUTPUT_QUIET ERROR_QUIET)
  if(Failed)
    set(${Variable} FALSE PARENT_SCOPE)
  else()
    set(${Variable} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Sets the caller's Variable to an interpreter that can compile models; empty if there is none. One
# that is given must be one, others are looked for.
function(_cbridge_find_onnx_python Variable Given)
  set(Candidates)
  if(Given)
    set(Candidates "${Given}")
  elseif(CBRIDGE_PYTHON)
    set(Candidates "${CBRIDGE_PYTHON}")
  else()
    get_property(Known GLOBAL PROPERTY _CBRIDGE_ONNX_PYTHON)
    if(Known)
      set(${Variable} "${Known}" PARENT_SCOPE)
      return()
    endif()
    if(NOT "$ENV{CBRIDGE_PYTHON}" STREQUAL "")
      list(APPEND Candidates "$ENV{CBRIDGE_PYTHON}")
    endif()
    foreach(Place IN ITEMS "$ENV{VIRTUAL_ENV}" "${CMAKE_SOURCE_DIR}/.venv"
        "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../.venv")
      if(EXISTS "${Place}/bin/python")
        list(APPEND Candidates "${Place}/bin/python")
      endif()
    endforeach()
    if(Python_EXECUTABLE) # that of whoever builds a wheel
      list(APPEND Candidates "${Python_EXECUTABLE}")
    endif()
    list(APPEND Candidates python3)
  endif()
  foreach(Python IN LISTS Candidates)
    _cbridge_has_onnx(Found "${Python}")
    if(Found)
      if(NOT Given AND NOT CBRIDGE_PYTHON)
        set_property(GLOBAL PROPERTY _CBRIDGE_ONNX_PYTHON "${Python}")
      endif()
      set(${Variable} "${Python}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${Variable} "" PARENT_SCOPE)
endfunction()

# unroll_policy -> UnrollPolicy.
function(_cbridge_model_name Variable File)
  get_filename_component(Stem "${File}" NAME_WE)
  string(REGEX MATCHALL "[A-Za-z0-9]+" Words "${Stem}")
  set(Name)
  foreach(Word IN LISTS Words)
    string(SUBSTRING "${Word}" 0 1 First)
    string(SUBSTRING "${Word}" 1 -1 Rest)
    string(TOUPPER "${First}" First)
    string(APPEND Name "${First}${Rest}")
  endforeach()
  if(NOT Name MATCHES "^[A-Z]")
    set(Name "Model${Name}")
  endif()
  set(${Variable} "${Name}" PARENT_SCOPE)
endfunction()

# Compiles a model in the target's folder of models and adds it to the target. Sets the caller's
# ModelName, and ModelSymbol, by which a list names it.
function(_cbridge_compile_model Function Target File)
  cmake_parse_arguments(PARSE_ARGV 3 Arg "FAST" "NAME;WEIGHTS;NAMESPACE;PYTHON" "MAX")
  if(Arg_UNPARSED_ARGUMENTS OR Arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${Function}: ${Arg_UNPARSED_ARGUMENTS} is unknown, or ${Arg_KEYWORDS_MISSING_VALUES} has no value")
  endif()
  get_filename_component(Model "${File}" ABSOLUTE)
  get_source_file_property(Made "${Model}" GENERATED)
  if(NOT EXISTS "${Model}" AND NOT Made)
    message(FATAL_ERROR "${Function}: there is no ${Model}. If the build makes it, "
      "add_custom_command(OUTPUT ${Model} ...) comes before")
  endif()
  if(NOT Arg_NAME)
    _cbridge_model_name(Arg_NAME "${Model}")
  elseif(NOT Arg_NAME MATCHES "^[A-Za-z][A-Za-z0-9_]*$")
    message(FATAL_ERROR "${Function}: NAME ${Arg_NAME} is no name in C++")
  endif()
  if(NOT Arg_NAMESPACE)
    set(Arg_NAMESPACE cbridge_models)
  endif()
  if(NOT Arg_WEIGHTS)
    set(Arg_WEIGHTS embed)
  elseif(NOT Arg_WEIGHTS MATCHES "^(embed|file)$")
    message(FATAL_ERROR "${Function}: WEIGHTS is embed or file, not ${Arg_WEIGHTS}")
  endif()
  _cbridge_find_onnx_python(Python "${Arg_PYTHON}")
  if(NOT Python)
    set(Which "${Arg_PYTHON}${CBRIDGE_PYTHON}")
    if(NOT Which)
      set(Which "the Python that was found")
    endif()
    message(FATAL_ERROR "${Function}: needs a Python with the packages onnx and compiler_bridge, which "
      "${Which} does not have: pip install '.[onnx]' in the sources of CompilerBridge, and let PYTHON or CBRIDGE_PYTHON be "
      "that interpreter")
  endif()

  set(Options "--weights=${Arg_WEIGHTS}" "--namespace=${Arg_NAMESPACE}")
  if(Arg_FAST)
    list(APPEND Options --fast)
  endif()
  foreach(Each IN LISTS Arg_MAX)
    list(APPEND Options "--max=${Each}")
  endforeach()
  set(Dir "${CMAKE_CURRENT_BINARY_DIR}/${Target}_models")
  set(Prefix "${Dir}/${Arg_NAME}")
  set(Outputs "${Prefix}.h" "${Prefix}.cpp" "${Prefix}Native.cpp")
  if(Arg_WEIGHTS STREQUAL "file")
    list(APPEND Outputs "${Prefix}.weights")
  endif()
  file(MAKE_DIRECTORY "${Dir}")
  set(Script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/cbridge_compile.py")
  set(Package "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../python/src/compiler_bridge")
  file(GLOB_RECURSE Generator CONFIGURE_DEPENDS "${Package}/codegen/*.py" "${Package}/codegen/*.inc"
    "${Package}/commands/compile.py")
  add_custom_command(OUTPUT ${Outputs}
    COMMAND "${Python}" "${Script}" "${Model}" -o "${Prefix}" ${Options}
    DEPENDS "${Model}" "${Script}" ${Generator}
    COMMENT "Compiling ${File} for native:${Arg_NAME}" VERBATIM)

  target_sources(${Target} PRIVATE ${Outputs})
  # A user's -ffast-math, or a target that has fused operations, would change results.
  set(Exactly -fno-fast-math -ffp-contract=off)
  if(Arg_FAST)
    set(Exactly)
  endif()
  set_source_files_properties("${Prefix}.cpp" PROPERTIES
    COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>;${Exactly}")
  get_target_property(Before ${Target} CBRIDGE_MODEL_DIR)
  if(NOT Before)
    set_target_properties(${Target} PROPERTIES CBRIDGE_MODEL_DIR "${Dir}")
    target_include_directories(${Target} PRIVATE "${Dir}"
      $<TARGET_PROPERTY:cbridge::core,INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_features(${Target} PRIVATE cxx_std_17)
  endif()
  string(REGEX REPLACE "[^A-Za-z0-9_]+" "_" Symbol "cbridge_model_${Arg_NAMESPACE}::${Arg_NAME}")
  set(ModelName "${Arg_NAME}" PARENT_SCOPE)
  set(ModelSymbol "${Symbol}" PARENT_SCOPE)
endfunction()

# The file that lists a target's models for the library.
function(_cbridge_list_models Target)
  set(List "${CMAKE_CURRENT_BINARY_DIR}/${Target}_models/LinkedModels.cpp")
  set(Joined "$<JOIN:$<TARGET_PROPERTY:${Target},CBRIDGE_MODEL_SYMBOLS>,) Each(>")
  file(GENERATE OUTPUT "${List}" CONTENT "\
// Made by cbridge_add_model: the models of ${Target}, for native:NAME.
#include <cbridge/module.h>

#define FOR_MODELS(Each) Each(${Joined})
#define DECLARE(Model) \\
  extern __attribute__((visibility(\"hidden\"))) const cbridge_native_model Model;
#define LIST(Model) &Model,

extern \"C\" {
FOR_MODELS(DECLARE)
__attribute__((visibility(\"hidden\"))) const cbridge_native_model *const *
cbridge_linked_models(void);
}

const cbridge_native_model *const *cbridge_linked_models(void) {
  static constexpr const cbridge_native_model *Models[] = {FOR_MODELS(LIST) nullptr};
  return Models;
}
")
  target_sources(${Target} PRIVATE "${List}")
endfunction()

function(cbridge_add_model Target File)
  if(NOT TARGET ${Target})
    message(FATAL_ERROR "cbridge_add_model: there is no target ${Target}")
  endif()
  get_target_property(Type ${Target} TYPE)
  if(NOT Type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY|OBJECT_LIBRARY)$")
    message(FATAL_ERROR "cbridge_add_model: ${Target} is neither an executable nor a shared, module or "
      "object library, but ${Type}: whoever links it would not get the list of its models")
  endif()
  get_target_property(Dir ${Target} SOURCE_DIR)
  if(NOT Dir STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "cbridge_add_model: ${Target} is a target of ${Dir}: call it there")
  endif()
  _cbridge_compile_model(cbridge_add_model ${Target} "${File}" ${ARGN})
  get_target_property(Symbols ${Target} CBRIDGE_MODEL_SYMBOLS)
  if(NOT Symbols)
    _cbridge_list_models(${Target})
  elseif(ModelSymbol IN_LIST Symbols)
    message(FATAL_ERROR "cbridge_add_model: ${Target} has a model ${ModelName} already; NAME another")
  endif()
  set_property(TARGET ${Target} APPEND PROPERTY CBRIDGE_MODEL_SYMBOLS ${ModelSymbol})
endfunction()

function(cbridge_add_model_module Target File)
  set(Exports "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/module.exports")
  add_library(${Target} MODULE)
  _cbridge_compile_model(cbridge_add_model_module ${Target} "${File}" ${ARGN})
  set_target_properties(${Target} PROPERTIES PREFIX "" SUFFIX .so LINK_DEPENDS "${Exports}"
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${Target} PRIVATE CBRIDGE_MODEL_AS_MODULE)
  target_compile_options(${Target} PRIVATE -fno-exceptions -fno-rtti)
  target_link_options(${Target} PRIVATE LINKER:-z,nodelete LINKER:--version-script=${Exports}
    LINKER:--gc-sections)
endfunction()
