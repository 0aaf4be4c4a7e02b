#include "services/channels/protocol/plan.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace lfc::channels {
namespace {

constexpr std::string_view kVersion = "2";

// The value of `name=value` among the words of the line; nothing: there is no such word.
std::optional<std::string_view> field(std::string_view line, std::string_view name) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
      return word.substr(name.size() + 1);
    at = end + 1;
  }
  return std::nullopt;
}

template <class Number, class... Base>
bool read(std::optional<std::string_view> text, Number& number, Base... base) {
  if (!text) return false;
  const char* const end = text->data() + text->size();
  const auto result = std::from_chars(text->data(), end, number, base...);
  return result.ec == std::errc() && result.ptr == end;
}

bool read(std::string_view line, Plan::Messages& messages) {
  std::optional<std::string_view> comm = field(line, "comm");
  if (comm) comm = comm->substr(0, comm->find('/'));
  return read(comm, messages.comm) && read(field(line, "from"), messages.from) &&
         read(field(line, "to"), messages.to) && read(field(line, "tag"), messages.tag);
}

// Empty: the plan is for this program.
std::string fault_of(std::string_view title, const Program& program, int ranks) {
  if (!title.starts_with("lfc-plan ") || field(title, "version") != kVersion)
    return "this is no plan of version " + std::string(kVersion);
  int made_for = 0;
  if (field(title, "ranks") != "any" &&
      (!read(field(title, "ranks"), made_for) || made_for != ranks))
    return "the plan is for " + std::string(field(title, "ranks").value_or("?")) +
           " ranks, and the job has " + std::to_string(ranks);
  std::uint64_t digest = 0;
  if (field(title, "digest") != "any" &&
      (!read(field(title, "digest"), digest, 16) || digest != program.digest))
    return "the plan was made from another program, or from another build of it: " +
           std::string(field(title, "program").value_or("?"));
  return {};
}

}  // namespace

std::size_t Plan::Hash::operator()(const Messages& messages) const noexcept {
  std::uint64_t hash = messages.comm;
  for (const std::int32_t part : {messages.from, messages.to, messages.tag}) {
    hash = (hash ^ static_cast<std::uint32_t>(part)) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  return hash;
}

Plan::Expected Plan::expected(std::string_view line) {
  Expected found;
  if (!read(field(line, "gain"), found.gain_us) || !read(field(line, "messages"), found.messages) ||
      !(found.gain_us > 0) || found.messages == 0)
    return {};
  return found;
}

double Plan::gain_us(const Messages& messages) const {
  const auto found = open_.find(messages);
  if (found == open_.end()) return 0;
  return found->second.gain_us / static_cast<double>(found->second.messages);
}

double Plan::gain_us() const noexcept {
  double sum = 0;
  for (const auto& [messages, expected] : open_) sum += expected.gain_us;
  return sum;
}

bool Plan::concerns(std::int32_t rank) const noexcept {
  return every_ || std::ranges::any_of(open_, [rank](const auto& each) {
           return each.first.from == rank || each.first.to == rank;
         });
}

std::optional<Plan> Plan::parse(std::string_view text, const Program& program, int ranks,
                                std::string& why_not) {
  Plan plan;
  for (std::size_t at = 0, line_number = 1; at < text.size(); ++line_number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    Messages messages;
    if (line_number == 1) {
      why_not = fault_of(line, program, ranks);
      if (!why_not.empty()) return std::nullopt;
    } else if (line == "open every") {
      plan.every_ = true;
    } else if (line.starts_with("open ") && read(line, messages)) {
      plan.open_.insert_or_assign(messages, expected(line));
    } else if (!line.empty()) {
      why_not = "line " + std::to_string(line_number) + " is none of a plan: " + std::string(line);
      return std::nullopt;
    }
    at = end + 1;
  }
  if (text.empty()) why_not = "the plan is empty";
  return text.empty() ? std::nullopt : std::optional<Plan>(std::move(plan));
}

}  // namespace lfc::channels
