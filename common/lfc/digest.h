/* Digest: the check that the loaded liblfc comes from the same build as the component that uses it.
 *
 *   if (lfc_library_headers() != LFC_HEADERS_DIGEST) decline();     of the generated lfc_headers_digest.inc
 *
 * Components are compiled with liblfc's structures, enumerations and inline functions. With a library of another build
 * they would misbehave without an error. A hash of all headers tells builds apart. Threads: any.
 */
#ifndef LFC_DIGEST_H
#define LFC_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the digest of the headers with which the library was compiled. */
uint64_t lfc_library_headers(void);

/* Writes which library is loaded, as words for the user: an id of its contents, and its path. */
void lfc_describe_library(char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
