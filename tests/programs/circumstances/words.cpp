#include "../../refuse.h"

#include "words.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace circumstances {
namespace {

// The parts of "a:b:c".
std::vector<std::string> parts_of(const std::string& value) {
  std::vector<std::string> parts;
  std::istringstream stream(value);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  return parts;
}

bool limit(const std::vector<std::string>& parts) {
  const bool known = parts.size() == 2;
  const auto which = known && parts[0] == "address" ? RLIMIT_AS
                     : known && parts[0] == "file"  ? RLIMIT_FSIZE
                                                    : RLIMIT_NOFILE;
  if (!known || (which == RLIMIT_NOFILE && parts[0] != "files")) {
    errno = EINVAL;
    return false;
  }
  const rlim_t value = std::strtoull(parts[1].c_str(), nullptr, 10);
  const rlimit both = {value, value};
  return setrlimit(which, &both) == 0;
}

bool refuse(const std::vector<std::string>& parts) {
  const std::string error = parts.size() == 2 ? parts[1] : "";
  const int number = error == "EPERM"    ? EPERM
                     : error == "ENOSYS" ? ENOSYS
                     : error == "EINVAL" ? EINVAL
                                         : 0;
  if (number == 0) errno = EINVAL;
  return number != 0 && refuse_calls(parts[0].c_str(), number);
}

}  // namespace

Words words_of(const std::string& text, int rank) {
  Words words;
  std::istringstream stream(text);
  bool mine = true;
  for (std::string word; stream >> word;) {
    if (word[0] == '@')
      mine = word == "@all" || word == "@" + std::to_string(rank);
    else if (mine)
      words.push_back(word);
  }
  return words;
}

bool bring_about(const Words& words, const std::string& shim) {
  std::string later;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    bool done = true;
    if (name == "limit")
      done = limit(parts_of(value));
    else if (name == "refuse")
      done = refuse(parts_of(value));
    else if (name == "pause" || name == "stop" || name == "then")
      later += word + " ";
    else
      done = setenv(("OMPI_MCA_" + name).c_str(), value.c_str(), 1) == 0;
    if (done) continue;
    std::fprintf(stderr, "circumstances: %s: %s\n", word.c_str(), std::strerror(errno));
    return false;
  }
  if (!later.empty()) {
    setenv("LFC_CIRCUMSTANCES", later.c_str(), 1);
    setenv("LD_PRELOAD", shim.c_str(), 1);
  }
  return true;
}

}  // namespace circumstances
