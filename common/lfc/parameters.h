/* Parameters: the parameters of each component, as one table for each.
 *
 *   static struct lfc_coll_parameters values;
 *   const struct lfc_parameter_table* table = lfc_coll_parameter_table();
 *   lfc_parameters_reset(table, &values);                 // the defaults
 *   for (size_t i = 0; i < table->count; ++i) ...       // a component registers table->rows[i] and stores the values
 *   if (!lfc_parameters_check(table, &values, text, sizeof text))
 *     complain(text);                                   // "coll_lfc_fan: 17 (accepted: 0 to 16)"
 *
 * To add a parameter, add a row to parameters/COMPONENT.def. The row makes the member here, its default, the check of
 * its bounds and its registration with Open MPI. Add it also to the table in the component's page
 * (scripts/checks/parameters compares the two). A row is
 *
 *   LFC_PARAMETER(type, name, default, accepted, level, help)
 *
 * with the type unsigned, size_t, bool or lfc_text; accepted: any, from(1, 16), at_least(1), powers_of_two(16, 64) or
 * one_of(names), where names is an array (words.h); the level of ompi_info, 1 to 9. Default and accepted are
 * C++, which only c_api/parameters.cpp compiles. *Held by* tests/unit/c_api/parameters_test.cpp,
 * tests/fault/bad_input.sh.
 *
 * Ownership: texts belong to the caller that stores them, and must stay valid while they are used; NULL is the empty
 * text. Threads: any; only lfc_parameters_reset() writes.
 */
#ifndef LFC_PARAMETERS_H
#define LFC_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const char* lfc_text;

#define LFC_PARAMETER(type, name, standard, accepted, level, help) type name;
struct lfc_btl_parameters {
#include "lfc/parameters/btl_lfc.def"
};
/* Those that Open MPI registers for btl lfc, because it does so for each BTL. */
struct lfc_ob1_parameters {
#include "lfc/parameters/btl_lfc_ob1.def"
};
struct lfc_coll_parameters {
#include "lfc/parameters/coll_lfc.def"
};
struct lfc_osc_parameters {
#include "lfc/parameters/osc_neon.def"
};
struct lfc_part_parameters {
#include "lfc/parameters/part_lfc.def"
};
#undef LFC_PARAMETER

enum lfc_parameter_type { LFC_UNSIGNED, LFC_SIZE, LFC_FLAG, LFC_TEXT };

struct lfc_parameter {
  const char *name, *help;
  int level;
  enum lfc_parameter_type type;
  size_t offset; /* of its member, in bytes */
  /* The default and the accepted values: these words for texts (none: any text), these numbers for other types. */
  lfc_text text;
  const lfc_text* words;
  size_t word_count;
  uint64_t number, smallest, largest;
  bool power_of_two;
};
struct lfc_parameter_table {
  const char* component; /* its parameters are called COMPONENT_NAME by users */
  const struct lfc_parameter* rows;
  size_t count;
};
/* Return the table of each component, a constant. */
const struct lfc_parameter_table* lfc_btl_parameter_table(void);
const struct lfc_parameter_table* lfc_ob1_parameter_table(void);
const struct lfc_parameter_table* lfc_coll_parameter_table(void);
const struct lfc_parameter_table* lfc_osc_parameter_table(void);
const struct lfc_parameter_table* lfc_part_parameter_table(void);

/* Sets all members to their defaults. */
void lfc_parameters_reset(const struct lfc_parameter_table* table, void* values);
/* Returns whether all values are accepted. If not, `text` is one line that begins with the parameter's whole
 * name. */
bool lfc_parameters_check(const struct lfc_parameter_table* table, const void* values, char* text,
                          size_t text_size);
/* Returns the index of the text among its words. `member` is the one in `values`; its value must be accepted. */
size_t lfc_parameter_choice(const struct lfc_parameter_table* table, const void* values,
                            const lfc_text* member);
/* Writes the accepted values in words; empty: all texts are accepted. */
void lfc_parameter_accepted(const struct lfc_parameter* row, char* text, size_t text_size);
/* Returns the index of the name that is most similar to `written`, or `count` if none is similar. */
size_t lfc_nearest_name(const char* const* names, size_t count, const char* written);
/* Returns the name, without the component's, of the parameter that this member of `values` stores. */
const char* lfc_parameter_name(const struct lfc_parameter_table* table, const void* values,
                               const void* member);

#ifdef __cplusplus
}
#endif

#endif
