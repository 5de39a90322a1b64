# cbridge_add_tf_model(name SAVED_MODEL dir [SIGNATURE key] [TAG_SET tags] [PYTHON interpreter]
#   [RUNTIME source...])
# The module NAME.so for the runner string `tf:NAME.so`: a signature of a TensorFlow saved model
# ("serving_default", unless SIGNATURE tells; MLGO's have "action"), compiled ahead of time by the
# TensorFlow of a Python interpreter (CBRIDGE_TF_PYTHON, or the one that CMake finds). The model is
# compiled anew when its saved_model.pb changes, which a custom command of the same folder may write
# that comes before.
#
# Most models need four sources of TensorFlow's own. RUNTIME adds more of those in its folder
# xla_aot_runtime_src, such as `xla/backends/cpu/runtime/dot_lib_f32.cc` for large products of
# matrices: the linker tells what is missing.
#
# These sources are compiled with cbridge_tf.h, which has what they use of Abseil, so that most modules
# need no library of TensorFlow's. Those that need more (convolutions and sorting do) keep using that
# TensorFlow's libtensorflow_framework.so.2, wherever it lies: the linker decides, by --as-needed.

# Sets the caller's Variable to the folder of the interpreter's TensorFlow.
function(_cbridge_find_tensorflow Variable Python)
  execute_process(COMMAND "${Python}" -c
    "import importlib.util as u; print(u.find_spec('tensorflow').submodule_search_locations[0])"
    OUTPUT_VARIABLE Dir ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT EXISTS "${Dir}/xla_aot_runtime_src" OR NOT EXISTS "${Dir}/libtensorflow_framework.so.2")
    set(Dir)
  endif()
  set(${Variable} "${Dir}" PARENT_SCOPE)
endfunction()

# What TensorFlow's headers want. They have warnings that nobody can mend, and sanitizers find what is
# not ours there.
function(_cbridge_tf_options Target Tensorflow)
  target_include_directories(${Target} SYSTEM PRIVATE "${Tensorflow}/include")
  target_compile_options(${Target} PRIVATE
    "SHELL:-include \"${CMAKE_CURRENT_FUNCTION_LIST_DIR}/cbridge_tf.h\"")
  target_compile_definitions(${Target} PRIVATE
    _GLIBCXX_USE_CXX11_ABI=1 EIGEN_MAX_ALIGN_BYTES=64 NDEBUG)
  target_compile_features(${Target} PRIVATE cxx_std_17)
  target_compile_options(${Target} PRIVATE -w -fno-lto)
  if(CBRIDGE_SANITIZE)
    target_compile_options(${Target} PRIVATE -fno-sanitize=all)
  endif()
  set_target_properties(${Target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# The module NAME.so, of what cbridge_tf_aot.py makes, or will have made, in the folder NAME_tf. Sets
# the caller's TfPrefix and TfFiles: how that is called, and all of it.
function(_cbridge_tf_module Name Tensorflow)
  set(Runtime
    tensorflow/compiler/tf2xla/allocator.cc
    tensorflow/compiler/tf2xla/xla_compiled_cpu_function.cc
    xla/backends/cpu/runtime/rng_state_lib.cc
    xla/executable_run_options.cc
    ${ARGN})
  list(REMOVE_DUPLICATES Runtime)
  # Models share it.
  string(MD5 Key "${Tensorflow};${Runtime}")
  string(SUBSTRING "${Key}" 0 8 Key)
  set(RuntimeTarget cbridge_tf_runtime_${Key})
  if(NOT TARGET ${RuntimeTarget})
    list(TRANSFORM Runtime PREPEND "${Tensorflow}/xla_aot_runtime_src/")
    add_library(${RuntimeTarget} STATIC EXCLUDE_FROM_ALL ${Runtime})
    _cbridge_tf_options(${RuntimeTarget} "${Tensorflow}")
  endif()

  set(Tools "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  string(REPLACE "-" "_" Class "${Name}")
  set(Out "${CMAKE_CURRENT_BINARY_DIR}/${Name}_tf")
  set(Prefix "${Out}/${Class}")
  set(Objects "${Prefix}.o" "${Prefix}_constants.o" "${Prefix}_metadata.o")
  file(MAKE_DIRECTORY "${Out}")
  add_library(${Name} MODULE "${Prefix}.cpp" ${Objects})
  set_source_files_properties(${Objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  _cbridge_tf_options(${Name} "${Tensorflow}")
  set_target_properties(${Name} PROPERTIES PREFIX "" SUFFIX .so
    LINK_DEPENDS "${Tools}/module.exports" INSTALL_RPATH "${Tensorflow}")
  target_include_directories(${Name} PRIVATE
    $<TARGET_PROPERTY:cbridge::core,INTERFACE_INCLUDE_DIRECTORIES>)
  # That library exports parts of libstdc++, for which nobody should need it.
  target_link_libraries(${Name} PRIVATE ${RuntimeTarget} stdc++
    "${Tensorflow}/libtensorflow_framework.so.2")
  target_link_options(${Name} PRIVATE
    LINKER:--as-needed LINKER:-z,nodelete LINKER:--version-script=${Tools}/module.exports LINKER:--gc-sections
    LINKER:--no-undefined)
  set(TfPrefix "${Prefix}" PARENT_SCOPE)
  set(TfFiles "${Prefix}.cpp" "${Prefix}.h" ${Objects} PARENT_SCOPE)
endfunction()

function(cbridge_add_tf_model Name)
  cmake_parse_arguments(PARSE_ARGV 1 Arg "" "SAVED_MODEL;SIGNATURE;TAG_SET;PYTHON" "RUNTIME")
  if(NOT Name MATCHES "^[A-Za-z_][A-Za-z0-9_-]*$" OR NOT Arg_SAVED_MODEL OR Arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cbridge_add_tf_model: need a name and SAVED_MODEL; got: ${ARGV}")
  endif()
  get_filename_component(Saved "${Arg_SAVED_MODEL}" ABSOLUTE)
  get_source_file_property(Made "${Saved}/saved_model.pb" GENERATED)
  if(NOT EXISTS "${Saved}/saved_model.pb" AND NOT Made)
    message(FATAL_ERROR "cbridge_add_tf_model: ${Saved} is no saved model: it has no saved_model.pb. "
      "If the build makes it, add_custom_command(OUTPUT ${Saved}/saved_model.pb ...) comes before")
  endif()
  foreach(Default IN ITEMS SIGNATURE:serving_default TAG_SET:serve PYTHON:${CBRIDGE_TF_PYTHON})
    string(REGEX MATCH "^([A-Z_]+):(.*)$" Default "${Default}")
    if(NOT Arg_${CMAKE_MATCH_1})
      set(Arg_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  if(NOT Arg_PYTHON)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(Arg_PYTHON "${Python3_EXECUTABLE}")
  endif()
  _cbridge_find_tensorflow(Tensorflow "${Arg_PYTHON}")
  if(NOT Tensorflow)
    message(FATAL_ERROR "cbridge_add_tf_model: ${Arg_PYTHON} has no tensorflow; "
      "pip install tensorflow-cpu, and let PYTHON or CBRIDGE_TF_PYTHON be that interpreter")
  endif()

  set(Aot "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/cbridge_tf_aot.py")
  _cbridge_tf_module(${Name} "${Tensorflow}" ${Arg_RUNTIME})
  get_filename_component(Class "${TfPrefix}" NAME)
  add_custom_command(OUTPUT ${TfFiles}
    COMMAND "${Arg_PYTHON}" "${Aot}" "${Saved}" "${Arg_TAG_SET}" "${Arg_SIGNATURE}"
      "cbridge_tf_model::${Class}" "${TfPrefix}"
    DEPENDS "${Saved}/saved_model.pb" "${Aot}"
    COMMENT "Compiling ${Arg_SAVED_MODEL} for tf:${Name}.so" VERBATIM)
endfunction()
