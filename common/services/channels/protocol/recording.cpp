#include "services/channels/protocol/recording.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace lfc::channels {
namespace {

constexpr std::array kKinds{LFC_RECORDED_KINDS(LFC_WORD)};
constexpr std::array kModes{LFC_RECORDED_MODES(LFC_WORD)};

std::string number_or_any(std::int32_t number) {
  return number < 0 ? "any" : std::to_string(number);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) noexcept {
  hash = (hash ^ with) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

std::string own_path() {
  std::array<char, 4096> path{};
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/cmdline", "r"), std::fclose);
  if (file == nullptr || std::fread(path.data(), 1, path.size() - 1, file.get()) == 0) return "?";
  return path.data();  // up to the first argument
}

}  // namespace

std::size_t Recording::Hash::operator()(const lfc_recorded& operation) const noexcept {
  std::uint64_t hash = mixed(operation.comm, operation.kind);
  hash = mixed(hash, operation.mode);
  hash = mixed(hash, operation.persistent);
  hash = mixed(hash, static_cast<std::uint32_t>(operation.comm_size));
  hash = mixed(hash, static_cast<std::uint32_t>(operation.peer));
  return mixed(hash, static_cast<std::uint32_t>(operation.tag));
}

bool Recording::Same::operator()(const lfc_recorded& a, const lfc_recorded& b) const noexcept {
  return a.kind == b.kind && a.mode == b.mode && a.persistent == b.persistent && a.comm == b.comm &&
         a.comm_size == b.comm_size && a.peer == b.peer && a.tag == b.tag;
}

void Recording::note(const lfc_recorded& operation, std::size_t bytes, bool in_one_piece) {
  ++calls_;
  auto at = places_.find(operation);
  if (at == places_.end()) {
    if (kinds_.size() >= limits_.kinds) {
      ++unnoted_;
      return;
    }
    at = places_.emplace(operation, static_cast<std::uint32_t>(kinds_.size())).first;
    kinds_.push_back({.operation = operation, .sizes = {}});
  }
  Kind& kind = kinds_[at->second];
  if (order_.size() < limits_.order) order_.push_back(at->second);
  ++kind.messages;
  kind.pieces += in_one_piece ? 0 : 1;
  const auto size = std::ranges::find(kind.sizes, bytes, &decltype(kind.sizes)::value_type::first);
  if (size != kind.sizes.end()) {
    ++size->second;
  } else if (kind.sizes.size() < limits_.sizes) {
    kind.sizes.emplace_back(bytes, 1);
  } else {
    ++kind.other_messages;
    kind.other_bytes += bytes;
  }
}

void Recording::describe(const Kind& kind, std::string& text) {
  const lfc_recorded& what = kind.operation;
  text += std::string(kKinds[what.kind]) + " comm=" + std::to_string(what.comm) + "/" +
          std::to_string(what.comm_size) + " peer=" + number_or_any(what.peer) +
          " tag=" + number_or_any(what.tag);
  if (what.kind == LFC_RECORDED_SEND) text += std::string(" mode=") + kModes[what.mode];
  text += std::string(" persistent=") + (what.persistent ? "yes" : "no") +
          " messages=" + std::to_string(kind.messages) + " pieces=" + std::to_string(kind.pieces) +
          " sizes=";
  for (const auto& [bytes, messages] : kind.sizes)
    text += std::to_string(bytes) + ":" + std::to_string(messages) + ",";
  if (kind.other_messages != 0)
    text += std::to_string(kind.other_bytes / kind.other_messages) + ":" +
            std::to_string(kind.other_messages) + ",";
  text.back() = '\n';
}

// A call that is repeated at once stands there once, with the count: 0 1 2*7.
void Recording::describe_order(std::string& text) const {
  text += "order";
  for (std::size_t i = 0; i < order_.size();) {
    std::size_t end = i + 1;
    while (end < order_.size() && order_[end] == order_[i]) ++end;
    text += " " + std::to_string(order_[i]);
    if (end - i > 1) text += "*" + std::to_string(end - i);
    i = end;
  }
  if (order_.size() < calls_) text += " ... of " + std::to_string(calls_) + " calls";
  text += "\n";
}

std::string Recording::text(int rank, int node) const {
  std::string text =
      "process rank=" + std::to_string(rank) + " node=" + std::to_string(node) + "\n";
  for (const Kind& kind : kinds_) describe(kind, text);
  describe_order(text);
  if (unnoted_ != 0)
    text += "unnoted messages=" + std::to_string(unnoted_) + " beyond " +
            std::to_string(limits_.kinds) + " kinds of calls\n";
  return text;
}

Program own_program() {
  Program program{own_path(), 0};
  program.name = program.name.substr(program.name.rfind('/') + 1);
  std::replace(program.name.begin(), program.name.end(), ' ', '_');
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/exe", "rb"), std::fclose);
  if (file == nullptr) return program;
  std::vector<std::uint64_t> words(8192);
  std::uint64_t hash = 1;
  for (;;) {
    const std::size_t size =
        std::fread(words.data(), 1, words.size() * sizeof(std::uint64_t), file.get());
    if (size == 0) break;
    std::memset(reinterpret_cast<char*>(words.data()) + size, 0,
                words.size() * sizeof(std::uint64_t) - size);
    for (std::size_t i = 0; i < (size + 7) / 8; ++i) hash = mixed(hash, words[i]);
    hash = mixed(hash, size);
  }
  program.digest = hash;
  return program;
}

std::string title(const Program& program, int ranks) {
  std::array<char, 17> digest{};
  std::snprintf(digest.data(), digest.size(), "%016" PRIx64, program.digest);
  return "lfc-recording version=1 ranks=" + std::to_string(ranks) + " program=" + program.name +
         " digest=" + digest.data() + "\n";
}

}  // namespace lfc::channels
