# Headers, library, CMake package and pkg-config file. Both package files find the prefix
# from their own place, so that an installed tree can be moved.
include(CMakePackageConfigHelpers)

set(PackageDir "${CMAKE_INSTALL_LIBDIR}/cmake/CompilerBridge")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/cbridge"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(TARGETS cbridge_core EXPORT CompilerBridgeTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT CompilerBridgeTargets NAMESPACE cbridge:: DESTINATION "${PackageDir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/CompilerBridgeConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/CompilerBridgeConfig.cmake"
  INSTALL_DESTINATION "${PackageDir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/CompilerBridgeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/CompilerBridgeConfig.cmake"
  "${PROJECT_BINARY_DIR}/CompilerBridgeConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/CBridgeModel.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/CBridgeProto.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/CBridgeTf.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/cbridge_compile.py"
  "${PROJECT_SOURCE_DIR}/cmake/cbridge_tf.h"
  "${PROJECT_SOURCE_DIR}/cmake/cbridge_tf_aot.py"
  "${PROJECT_SOURCE_DIR}/cmake/module.exports"
  DESTINATION "${PackageDir}")

# An absolute CMAKE_INSTALL_LIBDIR or INCLUDEDIR is the packager's wish for a fixed place.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(PcPrefix "${CMAKE_INSTALL_PREFIX}")
  set(PcLibDir "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH UpToPrefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
  string(REGEX REPLACE "/$" "" UpToPrefix "${UpToPrefix}")
  set(PcPrefix "\${pcfiledir}/${UpToPrefix}")
  set(PcLibDir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(PcIncludeDir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(PcIncludeDir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/compiler-bridge.pc.in"
  "${PROJECT_BINARY_DIR}/compiler-bridge.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/compiler-bridge.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
