# Runs before `cmake --install` copies anything, so that it copies all or nothing: is everything built that is installed (FILES),
# and may all folders it goes to be written (FOLDERS; relative ones are below the prefix)?
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
