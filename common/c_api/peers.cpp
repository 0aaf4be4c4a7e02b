#include "lfc/peers.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>

#include "engine/process_ni.hpp"

uint32_t lfc_find_peer(uint32_t job, uint32_t rank) {
  const std::shared_ptr<lfc::Ni> ni = lfc::process_ni();
  const lfc::Ni::Access access(*ni);
  return ni->services().find({job, rank});
}

void lfc_report_failure(uint32_t job, uint32_t rank, const char* why) {
  const std::shared_ptr<lfc::Ni> ni = lfc::process_ni();
  if (ni == nullptr) return;
  const lfc::Ni::Access access(*ni);
  ni->services().report_failure({job, rank}, why);
}

uint32_t lfc_add_peer(const void* address, size_t size, char* why, size_t why_size) try {
  const std::span blob(static_cast<const std::byte*>(address), size);
  const auto parsed = lfc::Address::parse(blob);
  std::string why_not = parsed ? "" : lfc::Address::fault_of(blob);
  lfc::PeerId peer = lfc::kNoPeer;
  if (parsed) peer = lfc::process_ni()->add_peer(*parsed, why_not = {});
  if (peer == lfc::kNoPeer) std::snprintf(why, why_size, "%s", why_not.c_str());
  return peer;
} catch (const std::exception& failure) {
  std::snprintf(why, why_size, "%s", failure.what());
  return LFC_NO_PEER;
}
