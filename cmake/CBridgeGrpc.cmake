# CBRIDGE_WITH_GRPC: the module cbridge-grpc.so, with `grpc:` and `serdes=protobuf`. On by default
# where everything that it needs is there.
find_program(CBRIDGE_PROTOC protoc)
find_program(CBRIDGE_GRPC_CPP_PLUGIN grpc_cpp_plugin)
mark_as_advanced(CBRIDGE_GRPC_CPP_PLUGIN)
find_path(CBRIDGE_GRPC_INCLUDE_DIR grpcpp/grpcpp.h)
find_path(CBRIDGE_PROTOBUF_INCLUDE_DIR google/protobuf/message.h)
set(GrpcParts CBRIDGE_PROTOC CBRIDGE_GRPC_INCLUDE_DIR CBRIDGE_PROTOBUF_INCLUDE_DIR)
foreach(Library IN ITEMS grpc++ grpc gpr protobuf)
  string(TOUPPER "CBRIDGE_${Library}_LIBRARY" Found)
  string(REPLACE "+" "X" Found "${Found}")
  find_library(${Found} ${Library})
  list(APPEND GrpcParts ${Found})
endforeach()
# Headers of gRPC's call it: whatever is linked, and not loaded, has to name it.
find_library(CBRIDGE_ABSL_LIBRARY absl_synchronization)
mark_as_advanced(${GrpcParts} CBRIDGE_ABSL_LIBRARY)

# What tests link that speak gRPC themselves.
set(CBRIDGE_GRPC_LIBRARIES
  ${CBRIDGE_GRPCXX_LIBRARY} ${CBRIDGE_GRPC_LIBRARY} ${CBRIDGE_GPR_LIBRARY})
if(CBRIDGE_ABSL_LIBRARY)
  list(APPEND CBRIDGE_GRPC_LIBRARIES ${CBRIDGE_ABSL_LIBRARY})
endif()

set(GrpcMissing)
foreach(Part IN LISTS GrpcParts)
  if(NOT ${Part})
    list(APPEND GrpcMissing ${Part})
  endif()
endforeach()
set(GrpcDefault ON)
if(GrpcMissing)
  set(GrpcDefault OFF)
endif()
option(CBRIDGE_WITH_GRPC "Build the module for gRPC and protobuf" ${GrpcDefault})
if(CBRIDGE_WITH_GRPC AND GrpcMissing)
  message(FATAL_ERROR "CBRIDGE_WITH_GRPC needs libgrpc++-dev, libprotobuf-dev and protobuf-compiler; "
    "not found: ${GrpcMissing}")
elseif(NOT CBRIDGE_WITH_GRPC)
  message(STATUS "Without gRPC and protobuf")
endif()
