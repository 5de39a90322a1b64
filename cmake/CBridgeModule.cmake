# cbridge_add_module(NAME x SOURCES ... [LIBS ...] [EXPORTS FILE] [PLAIN] [INSTALL])
# A module as cbridge/module.h describes it, in build/.../lib/compiler-bridge/cbridge-x.so. It
# exports one symbol and stays loaded. Links this library, unless PLAIN: then it knows the header
# alone. INSTALL: it is part of what users get. EXPORTS: a linker's version script, for a library
# that somebody else loads.
set(CBRIDGE_MODULE_DIR "${PROJECT_BINARY_DIR}/lib/compiler-bridge")

function(cbridge_add_module)
  cmake_parse_arguments(PARSE_ARGV 0 Arg "PLAIN;INSTALL" "NAME;EXPORTS" "SOURCES;LIBS")
  if(NOT Arg_NAME OR NOT Arg_SOURCES OR Arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cbridge_add_module: need NAME and SOURCES; unknown: ${Arg_UNPARSED_ARGUMENTS}")
  endif()
  set(Target cbridge-${Arg_NAME})
  set(Exports "${PROJECT_SOURCE_DIR}/cmake/module.exports")
  if(Arg_EXPORTS)
    set(Exports "${Arg_EXPORTS}")
  endif()
  add_library(${Target} MODULE ${Arg_SOURCES})
  set_target_properties(${Target} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${CBRIDGE_MODULE_DIR}" LINK_DEPENDS "${Exports}")
  # Compilers unload their plugins as they exit: code of ours may still run then.
  target_link_options(${Target} PRIVATE
    LINKER:-z,nodelete LINKER:--version-script=${Exports} LINKER:--gc-sections)
  if(Arg_PLAIN)
    target_include_directories(${Target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  else()
    target_include_directories(${Target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${Target} PRIVATE cbridge::core)
  endif()
  target_link_libraries(${Target} PRIVATE ${Arg_LIBS})
  cbridge_warnings(${Target})
  if(Arg_INSTALL AND CBRIDGE_INSTALL)
    install(TARGETS ${Target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/compiler-bridge")
  endif()
endfunction()
