# Tests and fuzz targets. Both functions do nothing when their kind is switched off,
# so that a folder can list its tests next to its sources without guards.

if(CBRIDGE_BUILD_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# cbridge_add_test(NAME x SOURCES ... [LABELS ...] [LIBS ...] [MODULES ...] [PLAIN])
# A GoogleTest executable, one ctest entry per test. PLAIN: a program with its own main
# (for instance in C) that is one ctest entry and passes by returning 0. MODULES: those that it
# can load.
function(cbridge_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 Arg "PLAIN" "NAME" "SOURCES;LABELS;LIBS;MODULES")
  if(NOT Arg_NAME OR NOT Arg_SOURCES OR Arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cbridge_add_test: need NAME and SOURCES; unknown: ${Arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT CBRIDGE_BUILD_TESTS)
    return()
  endif()
  # Under ThreadSanitizer only tests with threads are worth their time.
  if(CBRIDGE_SANITIZE STREQUAL "thread" AND NOT "threads" IN_LIST Arg_LABELS)
    return()
  endif()

  add_executable(${Arg_NAME} ${Arg_SOURCES})
  target_include_directories(${Arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${Arg_NAME} PRIVATE CBRIDGE_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${Arg_NAME} PRIVATE cbridge::core ${Arg_LIBS})
  cbridge_warnings(${Arg_NAME})
  set(Environment)
  if(Arg_MODULES)
    list(TRANSFORM Arg_MODULES PREPEND cbridge-)
    add_dependencies(${Arg_NAME} ${Arg_MODULES})
    set(Environment ENVIRONMENT "CBRIDGE_MODULE_PATH=${CBRIDGE_MODULE_DIR}")
  endif()

  if(Arg_PLAIN)
    add_test(NAME ${Arg_NAME} COMMAND ${Arg_NAME})
    set_tests_properties(${Arg_NAME} PROPERTIES TIMEOUT 60 LABELS "${Arg_LABELS}" ${Environment})
    return()
  endif()

  target_link_libraries(${Arg_NAME} PRIVATE GTest::gtest_main)
  # PRE_TEST: a build never runs a test binary, and an unchanged binary is not listed again.
  gtest_discover_tests(${Arg_NAME}
    TEST_PREFIX "${Arg_NAME}/"
    TEST_LIST ${Arg_NAME}_TESTS
    NO_PRETTY_VALUES
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 60 ${Environment})
  # Its PROPERTIES cannot carry a list of labels, a script that ctest reads afterwards can.
  if(Arg_LABELS)
    set(LabelsFile "${CMAKE_CURRENT_BINARY_DIR}/${Arg_NAME}_labels.cmake")
    file(WRITE "${LabelsFile}"
      "if(${Arg_NAME}_TESTS)\n"
      "  set_tests_properties(\${${Arg_NAME}_TESTS} PROPERTIES LABELS [==[${Arg_LABELS}]==])\n"
      "endif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${LabelsFile}")
  endif()
endfunction()

# cbridge_add_fuzzer(NAME x SOURCES ... [LIBS ...])
# The libFuzzer executable fuzz_x; its seeds are in tests/fuzz/corpus/x.
function(cbridge_add_fuzzer)
  cmake_parse_arguments(PARSE_ARGV 0 Arg "" "NAME" "SOURCES;LIBS")
  if(NOT Arg_NAME OR NOT Arg_SOURCES OR Arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cbridge_add_fuzzer: need NAME and SOURCES; unknown: ${Arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT CBRIDGE_BUILD_FUZZERS)
    return()
  endif()

  add_executable(fuzz_${Arg_NAME} ${Arg_SOURCES})
  target_include_directories(fuzz_${Arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(fuzz_${Arg_NAME} PRIVATE cbridge::core ${Arg_LIBS})
  target_link_options(fuzz_${Arg_NAME} PRIVATE -fsanitize=fuzzer)
  cbridge_warnings(fuzz_${Arg_NAME})
endfunction()
