/* Words: enumerations whose values are words, of a parameter or in a tool. A row has a value and its word, so both have
 * the same number.
 *
 *   #define LFC_COLOURS(ROW) ROW(LFC_RED, "red") ROW(LFC_GREEN, "green")
 *   enum colour { LFC_COLOURS(LFC_VALUE) };
 *   static const char* const names[] = {LFC_COLOURS(LFC_WORD)};
 *   puts(names[LFC_GREEN]);
 *
 * Threads: constants.
 */
#ifndef LFC_WORDS_H
#define LFC_WORDS_H

#define LFC_VALUE(value, word) value,
#define LFC_WORD(value, word) word,

/* The use of Open MPI's cache for registered memory: btl_lfc_registration_cache. */
#define LFC_CACHES(ROW)           \
  ROW(LFC_CACHE_AUTO, "auto")     \
  ROW(LFC_CACHE_ALWAYS, "always") \
  ROW(LFC_CACHE_NEVER, "never")
enum lfc_cache { LFC_CACHES(LFC_VALUE) };

/* The forwarder of the packets of collectives: coll_lfc_forwarding. */
#define LFC_FORWARDINGS(ROW)   \
  ROW(LFC_FORWARDING_NI, "ni") \
  ROW(LFC_FORWARDING_HOST, "host")
enum lfc_forwarding { LFC_FORWARDINGS(LFC_VALUE) };

/* The messages that use channels: coll_lfc_channels. */
#define LFC_CHANNELS_CHOICES(ROW)     \
  ROW(LFC_CHANNELS_OFF, "off")        \
  ROW(LFC_CHANNELS_BIND, "bind")      \
  ROW(LFC_CHANNELS_PLAN, "plan:FILE") \
  ROW(LFC_CHANNELS_RECORD, "record:FILE")
enum lfc_channels_choice { LFC_CHANNELS_CHOICES(LFC_VALUE) };

#endif
