// Target: notified access to the window at large.

#include <algorithm>
#include <optional>
#include <vector>

#include "base/stored_words.hpp"
#include "services/neon/protocol/target.hpp"

namespace lfc::neon {

bool Target::on_put_notify(Rank from, const Header& header, const std::byte* payload,
                           std::size_t size) {
  Slot* slot = carrier_.slot(header.tag);
  bool good = slot != nullptr;
  if (header.kind == Kind::put_runs) {
    const std::optional<RunSpan> span = span_of_runs(header, payload, size);
    if (!span) return false;
    std::byte* first = carrier_.window(header.offset, span->begin, span->end - span->begin);
    good = good && first != nullptr;
    const auto store = [first](std::uint64_t at, const std::byte* data, std::size_t bytes) {
      store_words(first + at, data, bytes);
    };
    if (good && !for_each_run(header, *span, payload, size, store)) return false;
  } else {
    std::byte* place = carrier_.window(header.offset, header.extra, size);
    good = good && (place != nullptr || size == 0);
    if (good) store_words(place, payload, size);
  }
  if (!good) ++statistics_.overruns;
  if ((header.flags & kStrong) != 0)
    reply(from, Kind::delivered, header.id, good ? 0 : kFailed | kOverrun);
  if (header.count <= 1) {
    if (good) slot->add(1);
    return header.count == 1;
  }
  std::vector<Assembly>& under_way = peers_.at(from).assemblies;
  auto found = std::find_if(under_way.begin(), under_way.end(), [&](const Assembly& each) {
    return each.sequence == header.generation;
  });
  if (found == under_way.end()) {
    if (under_way.size() >= kMaxAssemblies) return false;
    under_way.push_back({header.generation, 0, false});
    found = under_way.end() - 1;
  }
  ++found->received;
  found->failed = found->failed || !good;
  if (found->received < header.count) return true;
  if (!found->failed && slot != nullptr) slot->add(1);
  *found = under_way.back();
  under_way.pop_back();
  return true;
}

// A counter that does not exist is treated as in a frame: the put does not notify.
bool Target::on_get_notify(Rank from, const Header& header) {
  Slot* slot = carrier_.slot(header.tag);
  const std::byte* place = carrier_.window(header.offset, 0, header.extra);
  if (slot == nullptr || (place == nullptr && header.extra > 0)) {
    ++statistics_.overruns;
    reply(from, Kind::reply, header.id, kFailed | kOverrun);
    return true;
  }
  reply_to_get(from, header, place, nullptr, nullptr, slot);
  return true;
}

}  // namespace lfc::neon
