# CBRIDGE_WITH_ONNX: `onnx:` over ONNX Runtime, of which the build needs the C header alone; the library
# is loaded when a model is opened. AUTO: where the header is. ONNXRUNTIME_ROOT, a variable of CMake or of
# the environment, tells where that is: the folder of an unpacked release or of a Debian package, an
# installation's prefix, or the folder of onnxruntime_c_api.h itself.
set(CBRIDGE_WITH_ONNX AUTO CACHE STRING "Build onnx: over ONNX Runtime (AUTO: if its header is found)")
set_property(CACHE CBRIDGE_WITH_ONNX PROPERTY STRINGS AUTO ON OFF)
find_path(CBRIDGE_ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
  HINTS ${ONNXRUNTIME_ROOT} ENV ONNXRUNTIME_ROOT
  PATH_SUFFIXES include include/onnxruntime usr/include/onnxruntime onnxruntime
    include/onnxruntime/core/session)
mark_as_advanced(CBRIDGE_ONNXRUNTIME_INCLUDE_DIR)
# Names the option's value in this scope; the cache keeps what was asked for.
if(CBRIDGE_ONNXRUNTIME_INCLUDE_DIR)
  if(CBRIDGE_WITH_ONNX STREQUAL "AUTO")
    set(CBRIDGE_WITH_ONNX ON)
  endif()
elseif(ONNXRUNTIME_ROOT AND CBRIDGE_WITH_ONNX)
  message(FATAL_ERROR "There is no onnxruntime_c_api.h below ONNXRUNTIME_ROOT: ${ONNXRUNTIME_ROOT}")
elseif(CBRIDGE_WITH_ONNX STREQUAL "AUTO")
  message(STATUS "Without onnx: ONNX Runtime's onnxruntime_c_api.h was not found; "
    "ONNXRUNTIME_ROOT may tell where it is")
  set(CBRIDGE_WITH_ONNX OFF)
elseif(CBRIDGE_WITH_ONNX)
  message(FATAL_ERROR "CBRIDGE_WITH_ONNX needs ONNX Runtime's onnxruntime_c_api.h; set ONNXRUNTIME_ROOT")
endif()
