/* native_service: the NEON service of this process, kept from its first use until the component's end; and its
 * counters, over all windows that it has served. Threads: any. */
#ifndef LFC_NEON_NATIVE_SERVICE_H
#define LFC_NEON_NATIVE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#include <memory>

#include "services/neon/neon_service.hpp"

namespace lfc::neon {
// Null: no engine is open.
std::shared_ptr<NeonService> native_service();
}  // namespace lfc::neon

extern "C" {
#endif

size_t lfc_neon_counter_count(void);
/* For an index below the count. */
const char* lfc_neon_counter_name(size_t which);
const char* lfc_neon_counter_help(size_t which);
bool lfc_neon_counter_is_level(size_t which);
/* 0 before the first use of NEON, and after lfc_neon_close(). */
unsigned long long lfc_neon_counter(size_t which);
/* Lets the service go, before the engine is closed. */
void lfc_neon_close(void);

#ifdef __cplusplus
}
#endif

#endif
