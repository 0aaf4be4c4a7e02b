#include "app/options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "app/job.hpp"

namespace app {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", name, why.c_str());
  std::exit(2);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

}  // namespace

Options::Options(int argc, char** argv, const char* program, const char* what)
    : words_(argv + 1, argv + argc), used_(words_.size()) {
  std::snprintf(name, sizeof name, "%s", program);
  help_ = std::string("usage: mpirun -n RANKS ") + program + " [OPTIONS]\n\n" + what + "\n\n";
  quick_ = flag("--quick", "a small problem: seconds at most, to check and not to measure");
  seed = static_cast<std::uint64_t>(number("--seed", 1, 1, "of everything random"));
  repeats_ = number("--repeats", 5, 1, "timed runs");
  if (repeats_ < 1) refuse("--repeats: one at least");
  limit_ = number("--limit", 300, 60, "seconds after which the program gives up");
}

bool Options::flag(const char* option, const char* what) {
  describe(option, "", what);
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (words_[i] == option) return used_[i] = true;
  return false;
}

int Options::number(const char* option, int usual, int quick, const char* what) {
  const double value = real(option, usual, quick, what);
  if (value > 1e9 || value != std::floor(value)) refuse(std::string(option) + ": no such number");
  return static_cast<int>(value);
}

double Options::real(const char* option, double usual, double quick, const char* what) {
  char shown[64];
  std::snprintf(shown, sizeof shown, " N (%g, quick %g)", usual, quick);
  describe(option, shown, what);
  const std::string* text = value_of(option);
  if (text == nullptr) return quick_ ? quick : usual;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (text->empty() || *end != '\0' || !(value >= 0))
    refuse(std::string(option) + " " + *text + ": a number is wanted");
  return value;
}

std::string Options::choice(const char* option, const std::vector<std::string>& known,
                            const char* what) {
  const auto chosen = choices(option, known, {known.front()}, what);
  if (chosen.size() != 1) refuse(std::string(option) + ": one of them is wanted");
  return chosen.front();
}

std::vector<std::string> Options::choices(const char* option, const std::vector<std::string>& known,
                                          const std::vector<std::string>& usual, const char* what) {
  describe(option, " " + joined(known) + " (" + (usual == known ? "all" : joined(usual)) + ")",
           what);
  const std::string* text = value_of(option);
  if (text == nullptr) return usual;
  if (*text == "all") return known;
  std::vector<std::string> chosen;
  for (std::size_t from = 0; from <= text->size();) {
    const std::size_t to = std::min(text->find(',', from), text->size());
    chosen.push_back(text->substr(from, to - from));
    from = to + 1;
    if (std::find(known.begin(), known.end(), chosen.back()) == known.end())
      refuse(std::string(option) + ": no '" + chosen.back() + "', there are " + joined(known));
  }
  return chosen;
}

std::vector<int> Options::numbers(const char* option, std::vector<int> usual,
                                  std::vector<int> quick, const char* what) {
  describe(option, " N,N,...", what);
  const std::string* text = value_of(option);
  if (text == nullptr) return quick_ ? quick : usual;
  std::vector<int> chosen;
  for (const char* at = text->c_str();;) {
    char* end = nullptr;
    const long value = std::strtol(at, &end, 10);
    if (end == at || value < 0 || value > 1000000000 || (*end != '\0' && *end != ','))
      refuse(std::string(option) + " " + *text + ": numbers are wanted");
    chosen.push_back(static_cast<int>(value));
    if (*end == '\0') return chosen;
    at = end + 1;
  }
}

void Options::finish() {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == "--help" || words_[i] == "-h") {
      std::printf("%s", help_.c_str());
      std::exit(0);
    }
    if (!used_[i]) refuse("unknown option '" + words_[i] + "'; see --help");
  }
}

void Options::describe(const std::string& option, const std::string& values, const char* what) {
  help_ += "  " + option + values + "\n        " + what + "\n";
}

const std::string* Options::value_of(const char* option) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != option) continue;
    if (i + 1 == words_.size()) refuse(std::string(option) + ": a value is missing");
    used_[i] = used_[i + 1] = true;
    return &words_[i + 1];
  }
  return nullptr;
}

}  // namespace app
