#include "pml_below.h"

#include <string.h>

#include "ompi/mca/pml/base/base.h"

mca_pml_base_module_t lfc_pml_below;

static bool taken_over;

bool lfc_pml_take_over(bool threads) {
  const char* pml = mca_pml_base_selected_component.pmlm_version.mca_component_name;
  if (threads || opal_using_threads() || strcmp(pml, "ob1") != 0) return false;
  lfc_pml_below = mca_pml;
  taken_over = true;
  return true;
}

void lfc_pml_give_back(void) {
  if (taken_over) mca_pml = lfc_pml_below;
  taken_over = false;
}
