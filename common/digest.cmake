# cmake -P digest.cmake: a number of all that components compile in of liblfc.
#   FOLDER   of the headers
#   FLAVOUR  what else decides what they mean
#   OUTPUT   the header that is written, where its text changes
file(GLOB_RECURSE headers ${FOLDER}/*.h ${FOLDER}/*.hpp ${FOLDER}/*.def)
list(SORT headers)
set(text "${FLAVOUR}")
foreach(header ${headers})
  file(SHA256 ${header} digest)
  string(APPEND text ${digest})
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING ${digest} 0 16 digest)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define LFC_HEADERS_DIGEST 0x${digest}ull\n")
