# Every channel × serializer against healthy and against broken other ends. The channels
# are listed in ChannelsUnderTest.cpp.

if(CBRIDGE_BUILD_TESTS)
  set(CBRIDGE_CHANNEL_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/ChannelFixture.cpp
    ${CMAKE_CURRENT_LIST_DIR}/ChannelsUnderTest.cpp
    ${CMAKE_CURRENT_LIST_DIR}/HealthyChannelTest.cpp
    ${CMAKE_CURRENT_LIST_DIR}/RawPipe.cpp
    ${CMAKE_CURRENT_LIST_DIR}/RawShm.cpp
    ${CMAKE_CURRENT_LIST_DIR}/RawUnix.cpp
    ${CMAKE_CURRENT_LIST_DIR}/ServedPeer.cpp
    ${CMAKE_CURRENT_LIST_DIR}/ThisProcess.cpp)
  set(Speaks)
  if(CBRIDGE_WITH_GRPC)
    list(APPEND CBRIDGE_CHANNEL_SOURCES
      ${CMAKE_CURRENT_LIST_DIR}/RawGrpc.cpp
      ${CMAKE_CURRENT_LIST_DIR}/RawGrpcPeer.cpp
      ${PROJECT_SOURCE_DIR}/src/modules/grpc/wire/FrameMessage.cpp
      ${PROJECT_SOURCE_DIR}/src/modules/grpc/ThreadSanitizer.cpp)
    set(Speaks ${CBRIDGE_GRPC_LIBRARIES})
    if(CBRIDGE_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      set_source_files_properties(
        ${CMAKE_CURRENT_LIST_DIR}/RawGrpc.cpp ${CMAKE_CURRENT_LIST_DIR}/RawGrpcPeer.cpp PROPERTIES
        COMPILE_OPTIONS "-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/tsan.ignore")
    endif()
  endif()

  # Both ends are threads of one process, which is what ThreadSanitizer can see.
  cbridge_add_test(
    NAME channel_threads_test
    MODULES unix flatbuffers ${GrpcModule}
    LIBS ${Speaks}
    LABELS threads
    SOURCES ${CBRIDGE_CHANNEL_SOURCES}
      ${CMAKE_CURRENT_LIST_DIR}/ThreadedPeer.cpp
      ${CMAKE_CURRENT_LIST_DIR}/ChannelFaultsTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/CompilerFaultsTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/PeerFaultsTest.cpp)

  # Each end is a process that can be killed.
  cbridge_add_test(
    NAME channel_process_test
    MODULES unix flatbuffers ${GrpcModule}
    LIBS ${Speaks}
    SOURCES ${CBRIDGE_CHANNEL_SOURCES}
      ${CMAKE_CURRENT_LIST_DIR}/ForkedPeer.cpp
      ${CMAKE_CURRENT_LIST_DIR}/ProcessFaultsTest.cpp
      ${CMAKE_CURRENT_LIST_DIR}/SpawnTest.cpp)

  if(TARGET channel_process_test)
    add_executable(conformance_peer ${CMAKE_CURRENT_LIST_DIR}/ConformancePeer.cpp)
    target_link_libraries(conformance_peer PRIVATE cbridge::core)
    cbridge_warnings(conformance_peer)
    add_dependencies(channel_process_test conformance_peer)
    target_compile_definitions(channel_process_test PRIVATE
      CBRIDGE_CONFORMANCE_PEER="$<TARGET_FILE:conformance_peer>")
  endif()
endif()
