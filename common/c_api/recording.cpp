#include "lfc/recording.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "c_api/process_state.hpp"
#include "services/channels/protocol/recording.hpp"

namespace {

std::optional<lfc::channels::Recording>& recording() noexcept {
  return lfc::process_state().recording;
}

}  // namespace

extern "C" {

bool lfc_recording_open(void) try {
  if (!recording()) recording().emplace();
  return true;
} catch (const std::exception&) {
  return false;
}

void lfc_recording_close(void) { recording().reset(); }

void lfc_recording_note(const lfc_recorded* operation, size_t bytes, bool in_one_piece) try {
  recording()->note(*operation, bytes, in_one_piece);
} catch (const std::exception&) {
  return;  // no memory left: the recording lacks this one
}

char* lfc_recording_text(int rank, int node) try {
  return strdup(recording()->text(rank, node).c_str());
} catch (const std::exception&) {
  return nullptr;
}

void lfc_recording_title(int ranks, char* text, size_t size) try {
  std::snprintf(text, size, "%s",
                lfc::channels::title(lfc::channels::own_program(), ranks).c_str());
} catch (const std::exception&) {
  *text = '\0';
}

}  // extern "C"
