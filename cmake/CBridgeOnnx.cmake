# CBRIDGE_WITH_ONNX: `onnx:` over ONNX Runtime, of which the build needs the C header alone; the library
# is loaded when a model is opened. On by default where the header is there: below ONNXRUNTIME_ROOT (a
# variable of CMake or of the environment) or installed.
find_path(CBRIDGE_ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
  HINTS ${ONNXRUNTIME_ROOT} ENV ONNXRUNTIME_ROOT
  PATH_SUFFIXES include include/onnxruntime usr/include/onnxruntime onnxruntime
    include/onnxruntime/core/session)
mark_as_advanced(CBRIDGE_ONNXRUNTIME_INCLUDE_DIR)
set(OnnxDefault OFF)
if(CBRIDGE_ONNXRUNTIME_INCLUDE_DIR)
  set(OnnxDefault ON)
endif()
option(CBRIDGE_WITH_ONNX "Build onnx: over ONNX Runtime" ${OnnxDefault})
if(CBRIDGE_WITH_ONNX AND NOT CBRIDGE_ONNXRUNTIME_INCLUDE_DIR)
  message(FATAL_ERROR "CBRIDGE_WITH_ONNX needs ONNX Runtime's onnxruntime_c_api.h; set ONNXRUNTIME_ROOT")
elseif(NOT CBRIDGE_WITH_ONNX)
  message(STATUS "Without ONNX Runtime: its headers were not found; ONNXRUNTIME_ROOT may tell where they are")
endif()
