/* Whether the liblfc that was loaded is of the build that its user was compiled with.
 *
 *   if (lfc_library_headers() != LFC_HEADERS_DIGEST) decline();     of the generated lfc_headers_digest.inc
 *
 * Components compile in what the headers of liblfc say: structures, enumerations, inline functions. One of another
 * build would go on without a word and do something else. A number of all headers tells them apart. Any thread.
 */
#ifndef LFC_DIGEST_H
#define LFC_DIGEST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the headers with which the library itself was compiled. */
uint64_t lfc_library_headers(void);

#ifdef __cplusplus
}
#endif

#endif
