#include "lfc/plan.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "c_api/process_state.hpp"
#include "services/channels/protocol/plan.hpp"

namespace {

std::optional<lfc::channels::Plan>& plan() noexcept { return lfc::process_state().plan; }

bool read(const char* file, std::string& text) {
  std::unique_ptr<FILE, int (*)(FILE*)> from(std::fopen(file, "r"), std::fclose);
  if (from == nullptr) return false;
  std::array<char, 4096> part;
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), from.get()))
    text.append(part.data(), size);
  return std::ferror(from.get()) == 0;
}

}  // namespace

extern "C" {

bool lfc_plan_open(const char* file, int ranks, char* why, size_t size) try {
  std::string text, why_not;
  if (read(file, text))
    plan() = lfc::channels::Plan::parse(text, lfc::channels::own_program(), ranks, why_not);
  else
    why_not = std::strerror(errno);
  std::snprintf(why, size, "%s", why_not.c_str());
  return plan().has_value();
} catch (const std::exception& failure) {
  std::snprintf(why, size, "%s", failure.what());
  return false;
}

void lfc_plan_close(void) { plan().reset(); }

bool lfc_plan_concerns(int rank) { return plan() && plan()->concerns(rank); }

bool lfc_plan_names(uint64_t comm, int from, int to, int tag) {
  return plan() && plan()->names({comm, from, to, tag});
}

double lfc_plan_gain_us(uint64_t comm, int from, int to, int tag) {
  return plan() ? plan()->gain_us({comm, from, to, tag}) : 0;
}

bool lfc_plan_summarise(struct lfc_plan_summary* summary) {
  if (!plan()) return false;
  *summary = {plan()->names_every(), plan()->size(), plan()->gain_us()};
  return true;
}

}  // extern "C"
