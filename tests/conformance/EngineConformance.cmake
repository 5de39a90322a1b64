# Every engine that evaluates in the compiler's process. They are listed in
# EnginesUnderTest.cpp; one that is optional gets a definition here.

if(CBRIDGE_BUILD_TESTS)
  cbridge_add_module(NAME reference SOURCES ${CMAKE_CURRENT_LIST_DIR}/Reference.cpp)

  set(Definitions)
  if(CBRIDGE_WITH_ONNX)
    list(APPEND Definitions CBRIDGE_HAS_ONNX)
  endif()
  set(Suppressions ${CMAKE_CURRENT_LIST_DIR}/EngineSanitizers.cpp)
  if(CBRIDGE_WITH_TFLITE)
    list(APPEND Definitions CBRIDGE_HAS_TFLITE)
    list(APPEND Suppressions ${PROJECT_SOURCE_DIR}/src/engine/tflite/LeakSanitizer.cpp)
  endif()

  cbridge_add_test(
    NAME engine_conformance_test
    MODULES reference
    LABELS threads
    SOURCES
      ${CMAKE_CURRENT_LIST_DIR}/EngineAnswersTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/EngineFixture.cpp
      ${CMAKE_CURRENT_LIST_DIR}/EngineLifeTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/EngineProcessTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/EngineRefusalsTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/EngineSizesTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/EnginesUnderTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/ThisProcess.cpp
      ${Suppressions})
  target_compile_definitions(engine_conformance_test PRIVATE ${Definitions}
    CBRIDGE_CONFORMANCE_ENGINE="$<TARGET_FILE:conformance_engine>")

  add_executable(conformance_engine ${CMAKE_CURRENT_LIST_DIR}/EngineProcess.cpp
    ${CMAKE_CURRENT_LIST_DIR}/NoWrites.cpp
    ${CMAKE_CURRENT_LIST_DIR}/ThisProcess.cpp
      ${Suppressions})
  target_include_directories(conformance_engine PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(conformance_engine PRIVATE cbridge::core GTest::gtest)
  cbridge_warnings(conformance_engine)
  add_dependencies(engine_conformance_test conformance_engine)

  # All but the one with strings, as modules, whose folder EnginesUnderTest.cpp gets.
  if(CBRIDGE_ONNX_PYTHON AND TARGET engine_conformance_test)
    set(Golden "${PROJECT_SOURCE_DIR}/tests/golden/onnx")
    file(GLOB Models CONFIGURE_DEPENDS "${Golden}/*.onnx")
    list(REMOVE_ITEM Models "${Golden}/elements_string.onnx")
    foreach(File IN LISTS Models)
      get_filename_component(Model "${File}" NAME_WE)
      # More rows than any test has.
      cbridge_add_model_module(native_model_${Model} "${File}" MAX 100000)
      cbridge_warnings(native_model_${Model})
      add_dependencies(engine_conformance_test native_model_${Model})
    endforeach()
    target_compile_definitions(engine_conformance_test PRIVATE CBRIDGE_HAS_NATIVE
      CBRIDGE_NATIVE_MODELS="$<TARGET_FILE_DIR:native_model_affine>/native_model_")
  endif()

  # Which of them there are, EnginesUnderTest.cpp has to know.
  if(TfEngineModels)
    target_compile_definitions(engine_conformance_test PRIVATE CBRIDGE_HAS_TF
      CBRIDGE_TF_MODELS="$<TARGET_FILE_DIR:engine_model_affine>/engine_model_")
    foreach(Model IN LISTS TfEngineModels)
      add_dependencies(engine_conformance_test engine_model_${Model})
    endforeach()
  endif()
endif()
