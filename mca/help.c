#include "help.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lfc/lfc.h"
#include "opal/util/show_help.h"

static const char catalogue[] = "help-lfc.txt";

/* It lies beside the component, wherever that is. */
static void find_catalogue(void) {
  static bool found = false;
  Dl_info component;
  char folder[4096];
  if (found || dladdr(&found, &component) == 0) return;
  const char* end = strrchr(component.dli_fname, '/');
  if (end == NULL || (size_t)(end - component.dli_fname) >= sizeof folder) return;
  memcpy(folder, component.dli_fname, (size_t)(end - component.dli_fname));
  folder[end - component.dli_fname] = '\0';
  found = opal_show_help_add_dir(folder) == OPAL_SUCCESS;
}

#if LFC_SHOW_HELP_LOSES_TEXTS
static void print_topic(const char* topic, va_list texts) {
  if (!lfc_first_of_node(OPAL_PROC_MY_NAME.jobid, topic)) return;
  char* text = opal_show_help_vstring(catalogue, topic, true, texts);
  if (text != NULL) fputs(text, stderr);
  free(text);
}
#else
static void print_topic(const char* topic, va_list texts) {
  (void)opal_show_vhelp(catalogue, topic, true, texts);
}
#endif

/* Not where no descriptor is left. */
static bool can_open_catalogue(void) {
  const int token = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (token < 0) return false;
  (void)close(token);
  return true;
}

bool lfc_help(const char* topic, ...) {
  va_list texts;
  if (!can_open_catalogue()) return false;
  find_catalogue();
  va_start(texts, topic);
  print_topic(topic, texts);
  va_end(texts);
  return true;
}

bool lfc_prints_losses(void) {
  int index = -1;
  const mca_base_var_storage_t* value = NULL;
  return mca_base_var_find_by_name("btl_base_warn_peer_error", &index) != OPAL_SUCCESS ||
         index < 0 || mca_base_var_get_value(index, &value, NULL, NULL) != OPAL_SUCCESS ||
         value == NULL || value->boolval;
}

const char* lfc_node_of(const opal_proc_t* process) {
  const char* name = opal_get_proc_hostname(process);
  return name == NULL ? "?" : name;
}
