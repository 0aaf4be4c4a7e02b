# cmake -P digest.cmake: makes a number from all headers of liblfc that components compile in.
#   FOLDER   folder of the headers
#   FLAVOUR  options that change the meaning of the headers
#   OUTPUT   the header with the number; it is written only if its text changes
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
