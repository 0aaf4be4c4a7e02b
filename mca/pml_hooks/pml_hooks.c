#include "pml_hooks.h"

#include "persistent_channels.h"
#include "pml_below.h"
#include "recorder.h"

bool lfc_pml_hooks_install(enum lfc_persistent_choice choice, const char* file, bool threads) {
  switch (choice) {
    case LFC_PERSISTENT_BIND: return lfc_persistent_install(threads);
    case LFC_PERSISTENT_RECORD: return lfc_recorder_install(file, threads);
    default: return true;
  }
}

bool lfc_pml_hooks_record(void) { return lfc_recorder_ready(); }

void lfc_pml_hooks_agree(bool all_record) { lfc_recorder_agreed(all_record); }

void lfc_pml_hooks_remove(void) {
  lfc_pml_give_back();
  lfc_persistent_remove();
  lfc_recorder_remove();
}
