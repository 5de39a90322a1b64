# The unit tests, which lie beside their files.

set(Src "${PROJECT_SOURCE_DIR}/src")

cbridge_add_test(NAME core_test
  SOURCES
    ${Src}/core/FloatTextTest.cpp
    ${Src}/core/JsonTest.cpp
    ${Src}/core/NumberTest.cpp
    ${Src}/core/RunnerStringTest.cpp
    ${Src}/core/SignatureTest.cpp
    ${Src}/core/StatusTest.cpp
    ${Src}/core/TensorSpecTest.cpp)

cbridge_add_test(NAME tensor_test
  SOURCES
    ${Src}/os/RegionTest.cpp
    ${Src}/os/SharedMemoryTest.cpp
    ${Src}/os/SocketTest.cpp
    ${Src}/tensor/TensorStorageTest.cpp)

cbridge_add_test(NAME serdes_test
  SOURCES
    ${Src}/serdes/json/JsonSerializerTest.cpp)

cbridge_add_test(NAME log_test
  SOURCES
    ${Src}/log/TrainingLogTest.cpp)

cbridge_add_test(NAME engine_test
  SOURCES
    ${Src}/engine/SignatureFitTest.cpp)

cbridge_add_test(NAME record_test
  SOURCES
    ${Src}/engine/replay/ReplayTest.cpp
    ${Src}/runner/RecorderTest.cpp
  LABELS threads)

cbridge_add_test(NAME runner_test
  SOURCES
    ${Src}/runner/EnvironmentTest.cpp
    ${Src}/runner/FeaturesTest.cpp
    ${Src}/runner/MLModelRunnerTest.cpp
    ${Src}/runner/ModelTest.cpp
    ${Src}/runner/PassModelTest.cpp
  LABELS threads)

# Needs CBRIDGE_TFLITE when it runs; its tests are skipped without.
if(CBRIDGE_WITH_TFLITE)
  cbridge_add_test(NAME tflite_test
    SOURCES
      ${Src}/engine/tflite/LeakSanitizer.cpp
      ${Src}/engine/tflite/TfliteTest.cpp
    LABELS threads)
endif()

cbridge_add_test(NAME channel_test
  SOURCES
    ${Src}/channel/StreamChannelTest.cpp
    ${Src}/channel/pipe/PipeTest.cpp
  LABELS threads)

# Both ends are threads of one process.
cbridge_add_test(NAME shm_test
  SOURCES
    ${Src}/channel/shm/ShmPeerTest.cpp
    ${Src}/channel/shm/ShmTest.cpp
  LABELS threads)

cbridge_add_test(NAME shm_process_test
  SOURCES
    ${Src}/channel/shm/ShmProcessTest.cpp)

# Of its own, since it replaces operator new.
cbridge_add_test(NAME alloc_test
  SOURCES
    ${Src}/runner/AllocationTest.cpp)
if(TARGET alloc_test)
  add_dependencies(alloc_test native-rows)
  target_compile_definitions(alloc_test PRIVATE CBRIDGE_NATIVE_ROWS="$<TARGET_FILE:native-rows>")
endif()

if(CBRIDGE_WITH_ONNX)
  # ./dev names the library in CBRIDGE_ONNXRUNTIME.
  cbridge_add_test(NAME onnx_test
    SOURCES
      ${Src}/engine/onnx/GraphSignatureTest.cpp
      ${Src}/engine/onnx/OnnxTest.cpp)
  # Of its own: its process must not have loaded the library.
  cbridge_add_test(NAME ort_library_test
    SOURCES
      ${Src}/engine/onnx/OrtLibraryTest.cpp)
  if(TARGET ort_library_test)
    add_library(old_onnxruntime MODULE ${PROJECT_SOURCE_DIR}/tests/modules/old_onnxruntime.c)
    # As a library that one finds: its functions have types of its own.
    if(CBRIDGE_SANITIZE)
      target_compile_options(old_onnxruntime PRIVATE -fno-sanitize=all)
    endif()
    add_dependencies(ort_library_test old_onnxruntime)
    target_compile_definitions(ort_library_test PRIVATE
      CBRIDGE_OLD_ONNXRUNTIME="$<TARGET_FILE:old_onnxruntime>")
  endif()
endif()
