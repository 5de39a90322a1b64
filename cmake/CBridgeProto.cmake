# cbridge_add_proto(target file.proto... [IMPORT_DIRS dir...] [NO_PYTHON])
# Generates from .proto files, which may import each other:
# - C++ classes and gRPC services, which become part of the target: #include <file.pb.h>;
# - Python modules, file_pb2.py and file_pb2_grpc.py, unless NO_PYTHON;
# - the descriptor set for `grpc:HOST:PORT?proto=FILE.desc`, with all imports.
# The target's properties tell where: CBRIDGE_PROTO_DESCRIPTOR is the descriptor set, CBRIDGE_PROTO_DIR
# the folder of everything, for PYTHONPATH.
# Files and folders are relative to the current source folder. A file is imported by its path below the
# first of IMPORT_DIRS that it is in, or else by its name. Files that are imported and may change should
# be listed, too. Needs libgrpc++-dev, libprotobuf-dev, protobuf-compiler and protobuf-compiler-grpc.

# Lets the caller's variable be the program, or fails and names the package.
function(_cbridge_need_program Variable Name Package)
  find_program(${Variable} ${Name})
  mark_as_advanced(${Variable})
  if(NOT ${Variable})
    message(FATAL_ERROR "cbridge_add_proto: there is no ${Name}; on Debian it is in ${Package}")
  endif()
endfunction()

function(cbridge_add_proto Target)
  cmake_parse_arguments(PARSE_ARGV 1 Arg "NO_PYTHON" "" "IMPORT_DIRS")
  set(Files ${Arg_UNPARSED_ARGUMENTS})
  if(NOT TARGET ${Target} OR NOT Files)
    message(FATAL_ERROR "cbridge_add_proto: need a target and .proto files; got: ${ARGV}")
  endif()
  get_target_property(Type ${Target} TYPE)
  get_target_property(Home ${Target} SOURCE_DIR)
  if(NOT Type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$"
      OR NOT Home STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "cbridge_add_proto: ${Target} must be a program or library with sources, of this folder")
  endif()

  _cbridge_need_program(CBRIDGE_PROTOC protoc protobuf-compiler)
  _cbridge_need_program(CBRIDGE_GRPC_CPP_PLUGIN grpc_cpp_plugin protobuf-compiler-grpc)
  find_path(CBRIDGE_PROTOBUF_INCLUDE_DIR google/protobuf/message.h)
  set(Parts CBRIDGE_PROTOBUF_INCLUDE_DIR)
  foreach(Library IN ITEMS GRPCXX:grpc++ GRPC:grpc GPR:gpr PROTOBUF:protobuf)
    string(REPLACE ":" ";" Library "${Library}")
    list(GET Library 0 Name)
    list(GET Library 1 Library)
    find_library(CBRIDGE_${Name}_LIBRARY ${Library})
    list(APPEND Parts CBRIDGE_${Name}_LIBRARY)
  endforeach()
  mark_as_advanced(${Parts})
  foreach(Part IN LISTS Parts)
    if(NOT ${Part})
      message(FATAL_ERROR "cbridge_add_proto: needs libgrpc++-dev and libprotobuf-dev; not found: ${Part}")
    endif()
  endforeach()
  # What gRPC's headers use; part of it in other builds.
  find_library(CBRIDGE_ABSL_SYNCHRONIZATION_LIBRARY absl_synchronization)
  mark_as_advanced(CBRIDGE_ABSL_SYNCHRONIZATION_LIBRARY)

  set(Out "${CMAKE_CURRENT_BINARY_DIR}/${Target}_proto")
  file(MAKE_DIRECTORY "${Out}")
  set(Roots)
  foreach(Dir IN LISTS Arg_IMPORT_DIRS)
    get_filename_component(Dir "${Dir}" ABSOLUTE)
    list(APPEND Roots "${Dir}")
  endforeach()
  set(Paths)
  set(Stems)
  set(Imports ${Roots})
  foreach(File IN LISTS Files)
    get_filename_component(File "${File}" ABSOLUTE)
    if(NOT EXISTS "${File}")
      message(FATAL_ERROR "cbridge_add_proto: there is no ${File}")
    endif()
    get_filename_component(Root "${File}" DIRECTORY)
    foreach(Dir IN LISTS Roots)
      file(RELATIVE_PATH Inside "${Dir}" "${File}")
      if(NOT Inside MATCHES "^\\.\\./")
        set(Root "${Dir}")
        break()
      endif()
    endforeach()
    list(APPEND Imports "${Root}")
    file(RELATIVE_PATH Stem "${Root}" "${File}")
    string(REGEX REPLACE "\\.proto$" "" Stem "${Stem}")
    list(APPEND Paths "${File}")
    list(APPEND Stems "${Stem}")
  endforeach()
  list(REMOVE_DUPLICATES Imports)
  list(TRANSFORM Imports PREPEND "-I")

  # Names as protoc makes them.
  set(Cpp)
  set(Headers)
  set(Python)
  foreach(Stem IN LISTS Stems)
    list(APPEND Cpp "${Out}/${Stem}.pb.cc" "${Out}/${Stem}.grpc.pb.cc")
    list(APPEND Headers "${Out}/${Stem}.pb.h" "${Out}/${Stem}.grpc.pb.h")
    string(REPLACE "-" "_" Module "${Stem}")
    list(APPEND Python "${Out}/${Module}_pb2.py" "${Out}/${Module}_pb2_grpc.py")
  endforeach()
  list(GET Stems 0 First)
  get_filename_component(First "${First}" NAME)
  set(Descriptor "${Out}/${First}.desc")
  set(Flags --cpp_out "${Out}" --grpc_out "${Out}"
    "--plugin=protoc-gen-grpc=${CBRIDGE_GRPC_CPP_PLUGIN}")
  if(Arg_NO_PYTHON)
    set(Python)
  else()
    _cbridge_need_program(CBRIDGE_GRPC_PYTHON_PLUGIN grpc_python_plugin protobuf-compiler-grpc)
    list(APPEND Flags --python_out "${Out}" --grpc_python_out "${Out}"
      "--plugin=protoc-gen-grpc_python=${CBRIDGE_GRPC_PYTHON_PLUGIN}")
  endif()
  add_custom_command(OUTPUT ${Cpp} ${Headers} ${Python} "${Descriptor}"
    COMMAND "${CBRIDGE_PROTOC}" ${Imports} ${Flags}
      --include_imports "--descriptor_set_out=${Descriptor}" ${Paths}
    DEPENDS ${Paths} COMMENT "Generating from ${Files}" VERBATIM)

  # What is generated has warnings that nobody can mend.
  set_source_files_properties(${Cpp} PROPERTIES COMPILE_OPTIONS -w)
  target_sources(${Target} PRIVATE ${Cpp} ${Headers} ${Python} "${Descriptor}")
  target_include_directories(${Target} SYSTEM PUBLIC "$<BUILD_INTERFACE:${Out}>")
  target_link_libraries(${Target} PUBLIC "${CBRIDGE_GRPCXX_LIBRARY}" "${CBRIDGE_GRPC_LIBRARY}"
    "${CBRIDGE_GPR_LIBRARY}" "${CBRIDGE_PROTOBUF_LIBRARY}"
    "$<$<BOOL:${CBRIDGE_ABSL_SYNCHRONIZATION_LIBRARY}>:${CBRIDGE_ABSL_SYNCHRONIZATION_LIBRARY}>")
  set_target_properties(${Target} PROPERTIES
    CBRIDGE_PROTO_DESCRIPTOR "${Descriptor}" CBRIDGE_PROTO_DIR "${Out}")
endfunction()
