#include "pml_hooks.h"

#include "channel_hooks.h"
#include "lfc/lfc.h"
#include "ob1.h"
#include "recorder.h"
#include "report.h"

#include "opal/util/proc.h"

static const char* install_channels(bool threads, bool planned, bool report) {
  if (!lfc_channel_hooks_install(threads, planned))
    return "there are no channels: they need ob1, one thread, and mpi_ft_enable 0";
  if (report) lfc_report_prepare();
  return NULL;
}

const char* lfc_pml_hooks_install(enum lfc_channels_choice choice, const char* file, int ranks,
                                  bool threads, bool report) {
  static char why[256];
  switch (choice) {
    case LFC_CHANNELS_BIND: return install_channels(threads, false, report);
    case LFC_CHANNELS_PLAN:
      if (!lfc_plan_open(file, ranks, why, sizeof why)) return why;
      return install_channels(threads, lfc_plan_concerns((int)OPAL_PROC_MY_NAME.vpid), report);
    case LFC_CHANNELS_RECORD:
      return lfc_recorder_install(file, threads)
                 ? NULL
                 : "nothing is recorded: that needs ob1, and one thread";
    default: return NULL;
  }
}

unsigned lfc_pml_hooks_gather(void) {
  return (lfc_recorder_ready() ? LFC_HOOKS_RECORD : 0u) |
         (lfc_report_is_ready() ? LFC_HOOKS_REPORT : 0u);
}

void lfc_pml_hooks_agree(unsigned all) {
  lfc_recorder_agreed((all & LFC_HOOKS_RECORD) != 0);
  lfc_report_agreed((all & LFC_HOOKS_REPORT) != 0);
}

void lfc_pml_hooks_describe(char* text, size_t size) {
  lfc_channels_describe(lfc_sent.ordinary.by_channel + lfc_sent.persistent.by_channel, text, size);
}

void lfc_pml_hooks_remove(void) {
  lfc_ob1_give_back();
  lfc_channel_hooks_remove();
  lfc_report_close();
  lfc_plan_close();
  lfc_recorder_remove();
}
