#include "pml_hooks.h"

#include "lfc/lfc.h"
#include "persistent_channels.h"
#include "pml_below.h"
#include "recorder.h"

#include "opal/util/proc.h"

static const char* install_channels(bool threads, bool planned) {
  return lfc_persistent_install(threads, planned)
             ? NULL
             : "there are no channels: they need ob1, one thread, and mpi_ft_enable 0";
}

const char* lfc_pml_hooks_install(enum lfc_channels_choice choice, const char* file, int ranks,
                                  bool threads) {
  static char why[256];
  switch (choice) {
    case LFC_CHANNELS_BIND: return install_channels(threads, false);
    case LFC_CHANNELS_PLAN:
      if (!lfc_plan_open(file, ranks, why, sizeof why)) return why;
      return install_channels(threads, lfc_plan_concerns((int)OPAL_PROC_MY_NAME.vpid));
    case LFC_CHANNELS_RECORD:
      return lfc_recorder_install(file, threads)
                 ? NULL
                 : "nothing is recorded: that needs ob1, and one thread";
    default: return NULL;
  }
}

bool lfc_pml_hooks_record(void) { return lfc_recorder_ready(); }

void lfc_pml_hooks_agree(bool all_record) { lfc_recorder_agreed(all_record); }

void lfc_pml_hooks_remove(void) {
  lfc_pml_give_back();
  lfc_persistent_remove();
  lfc_plan_close();
  lfc_recorder_remove();
}
