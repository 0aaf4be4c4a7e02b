# Runs before `cmake --install` copies files, so that it copies all or none. It checks that all files to install are
# built (FILES), and that their folders are writable (FOLDERS). The components' folder comes first; relative folders are
# below the prefix.
list(GET FOLDERS 0 components)
message(STATUS "Components go to ${components} (-DLFC_OMPI_COMPONENTS), all else below ${CMAKE_INSTALL_PREFIX}")
foreach(file ${FILES})
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "Nothing is installed:\n  ${file} has not been built\nBuild it by\n  cmake --build ${BUILD} --target plugin")
  endif()
endforeach()
foreach(folder ${FOLDERS})
  cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX})
  set(place $ENV{DESTDIR}${folder})
  while(NOT EXISTS ${place})
    cmake_path(GET place PARENT_PATH place)
  endwhile()
  execute_process(COMMAND test -w ${place} RESULT_VARIABLE not_writable)
  if(not_writable)
    message(FATAL_ERROR "Nothing is installed:\n  ${place} may not be written\nConfigure the build anew with -DLFC_INSTALL=user to "
      "install for yourself only, or choose another --prefix.")
  endif()
endforeach()
