/* Sums up the counts of all ranks. */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "lfc/lfc.h"
#include "ob1.h"

#include "opal/util/proc.h"

struct lfc_sent_messages lfc_sent;

static struct { bool ready, agreed; } report;

struct counts {
  struct lfc_sent_messages sent;
  struct lfc_channel_totals channels;
}; /* of one rank, or of all together */

static void add(struct counts* sum, const struct counts* other) {
  sum->sent.ordinary.by_channel += other->sent.ordinary.by_channel;
  sum->sent.ordinary.matched += other->sent.ordinary.matched;
  sum->sent.persistent.by_channel += other->sent.persistent.by_channel;
  sum->sent.persistent.matched += other->sent.persistent.matched;
  sum->channels.opened += other->channels.opened;
  sum->channels.closed += other->channels.closed;
  sum->channels.given += other->channels.given;
  sum->channels.won_us += other->channels.won_us;
}

/* --- Text --- */

static void describe_keys(const struct lfc_plan_summary* plan, char* text, size_t size) {
  if (plan == NULL)
    snprintf(text, size, "no plan");
  else if (plan->every)
    snprintf(text, size, "every one planned");
  else
    snprintf(text, size, "%llu planned", (unsigned long long)plan->keys);
}

static void describe_time(const struct lfc_plan_summary* plan, double won_us, char* text,
                          size_t size) {
  if (plan == NULL)
    snprintf(text, size, "unknown, because there is no plan");
  else if (plan->gain_us > 0)
    snprintf(text, size,
             "%.1f us of all messages together, by the costs in the plan, which expects %.1f us",
             won_us, plan->gain_us);
  else
    snprintf(text, size, "unknown, because the plan has no costs (perf/tailor --costs)");
}

static void print(const struct counts* sum) {
  struct lfc_plan_summary summary;
  const struct lfc_plan_summary* const plan = lfc_plan_summarise(&summary) ? &summary : NULL;
  char keys[64], time[256], ordinary[128] = "";
  describe_keys(plan, keys, sizeof keys);
  describe_time(plan, sum->channels.won_us, time, sizeof time);
  if (plan != NULL)
    snprintf(ordinary, sizeof ordinary,
             "lfc-report ordinary messages of planned keys: %llu by channel, %llu by matching\n",
             (unsigned long long)sum->sent.ordinary.by_channel,
             (unsigned long long)sum->sent.ordinary.matched);
  fprintf(stderr,
          "lfc-report keys: %s, %llu opened, %llu closed\n"
          "%s"
          "lfc-report persistent messages: %llu by channel, %llu by matching\n"
          "lfc-report messages by channel that were matched after all: %llu\n"
          "lfc-report time won: %s\n",
          keys, (unsigned long long)sum->channels.opened, (unsigned long long)sum->channels.closed,
          ordinary, (unsigned long long)sum->sent.persistent.by_channel,
          (unsigned long long)sum->sent.persistent.matched, (unsigned long long)sum->channels.given,
          time);
}

/* --- The ranks --- */

static void gather(ompi_communicator_t* world, struct counts* sum) {
  for (int rank = 1; rank < ompi_comm_size(world); ++rank) {
    struct counts other;
    if (lfc_ob1.pml_recv(&other, sizeof other, MPI_BYTE, rank, LFC_GATHER_TAG, world,
                         MPI_STATUS_IGNORE) == OMPI_SUCCESS)
      add(sum, &other);
    else
      fprintf(stderr, "lfc-report lacks rank %d: its counts did not arrive\n", rank);
  }
}

void lfc_report_print(ompi_communicator_t* world) {
  if (!report.agreed) return;
  struct counts counts = {.sent = lfc_sent};
  lfc_channels_total(&counts.channels);
  if (ompi_comm_rank(world) != 0) {
    (void)lfc_ob1.pml_send(&counts, sizeof counts, MPI_BYTE, 0, LFC_GATHER_TAG,
                           MCA_PML_BASE_SEND_STANDARD, world);
    return;
  }
  gather(world, &counts);
  print(&counts);
}

/* --- Begin and end --- */

void lfc_report_prepare(void) { report.ready = true; }

bool lfc_report_is_ready(void) { return report.ready; }

void lfc_report_agreed(bool all) { report.agreed = all; }

void lfc_report_close(void) {
  if (report.ready && !report.agreed && OPAL_PROC_MY_NAME.vpid == 0)
    fprintf(stderr,
            "lfc-report is not there: a rank has no channels, or another value of "
            "coll_lfc_channels_report, or LFC does not serve MPI_COMM_WORLD\n");
  memset(&report, 0, sizeof report);
  memset(&lfc_sent, 0, sizeof lfc_sent);
}
