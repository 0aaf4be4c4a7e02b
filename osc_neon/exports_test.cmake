# Open MPI loads components into the global scope: a component must define its own symbol only, and
# this one what libmpix_neon looks for.
execute_process(COMMAND ${NM} --dynamic --defined-only --format=posix ${COMPONENT}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE " [^\n]*\n" ";" names "${symbols}")
list(REMOVE_ITEM names "")
list(SORT names)
if(NOT names STREQUAL "lfc_neon_native_1;mca_osc_neon_component")
  message(FATAL_ERROR "${COMPONENT} exports: ${names}")
endif()
