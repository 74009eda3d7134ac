# The installed package: library, headers, find_package(mla_prolog) and mla_prolog.pc.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mla_prolog)

install(
  TARGETS mla_prolog
  EXPORT mla_prologTargets
  RUNTIME COMPONENT mla_prolog_runtime
  LIBRARY COMPONENT mla_prolog_runtime NAMELINK_COMPONENT mla_prolog_development
  ARCHIVE COMPONENT mla_prolog_development)
install(
  DIRECTORY include/mla_prolog ${MLA_PROLOG_GENERATED_INCLUDE}/mla_prolog
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT mla_prolog_development
  FILES_MATCHING PATTERN "*.hpp")

install(
  EXPORT mla_prologTargets
  NAMESPACE mla_prolog::
  DESTINATION ${package_dir}
  COMPONENT mla_prolog_development)
configure_package_config_file(cmake/mla_prologConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/mla_prologConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/mla_prologConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/cmake/mla_prologConfig.cmake ${PROJECT_BINARY_DIR}/cmake/mla_prologConfigVersion.cmake
        cmake/FindoneDNN.cmake
  DESTINATION ${package_dir}
  COMPONENT mla_prolog_development)

# pkg-config. A shared library brings its own dependencies; an archive's user must link them.
cmake_path(SET pc_dir NORMALIZE ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  # Relative to the .pc file itself, so the installed tree can be moved.
  string(REGEX REPLACE "[^/]+" ".." pc_up ${pc_dir})
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_libs)
set(pc_cflags)
if(NOT BUILD_SHARED_LIBS)
  set(pc_cflags " -DMLA_PROLOG_STATIC")
  if(MLA_PROLOG_WITH_ONEDNN)
    string(APPEND pc_libs " -ldnnl")
  endif()
  if(MLA_PROLOG_WITH_OPENMP)
    foreach(library IN LISTS OpenMP_CXX_LIB_NAMES)
      cmake_path(GET OpenMP_${library}_LIBRARY PARENT_PATH directory)
      if(directory AND NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
        string(APPEND pc_libs " -L${directory}")
      endif()
      string(APPEND pc_libs " -l${library}")
    endforeach()
  endif()
endif()
configure_file(cmake/mla_prolog.pc.in ${PROJECT_BINARY_DIR}/cmake/mla_prolog.pc @ONLY)
install(
  FILES ${PROJECT_BINARY_DIR}/cmake/mla_prolog.pc
  DESTINATION ${pc_dir}
  COMPONENT mla_prolog_development)
