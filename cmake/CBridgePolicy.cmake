# CBRIDGE_WITH_POLICY: the plugin for LLVM has models/inline-oz.onnx in it, as native:InlineOz, which
# cbridge-clang uses at -Os and -Oz. A Python with onnx compiles it. AUTO: where there is one.
set(CBRIDGE_WITH_POLICY AUTO CACHE STRING "Put the inlining policy into the plugin (AUTO: if a Python with onnx is found)")
set_property(CACHE CBRIDGE_WITH_POLICY PROPERTY STRINGS AUTO ON OFF)
# Names the option's value in this scope; the cache keeps what was asked for.
if(NOT CBRIDGE_WITH_LLVM)
  set(CBRIDGE_WITH_POLICY OFF) # no plugin to put it into
elseif(CBRIDGE_WITH_POLICY)
  _cbridge_find_onnx_python(PolicyPython "")
  if(PolicyPython)
    set(CBRIDGE_WITH_POLICY ON)
  elseif(CBRIDGE_WITH_POLICY STREQUAL "AUTO")
    message(STATUS "Without the inlining policy: no Python with onnx was found, which compiles it; "
      "CBRIDGE_PYTHON may name one. cbridge-clang will not use a model unless one is named")
    set(CBRIDGE_WITH_POLICY OFF)
  else()
    message(FATAL_ERROR "CBRIDGE_WITH_POLICY needs a Python with onnx (pip install onnx); CBRIDGE_PYTHON may name one")
  endif()
endif()
