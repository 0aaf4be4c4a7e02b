#include "process.hpp"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

namespace look {
namespace {

namespace fs = std::filesystem;

std::string proc(int pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::string first_line(const std::string& file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line;
}

// The letter behind the name, which may hold anything.
char state_of(const std::string& stat) noexcept {
  const std::size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? '?' : stat[end + 2];
}

std::string wchan(const std::string& folder) {
  const std::string function = first_line(folder + "wchan");
  return function == "0" ? std::string() : function;
}

// When a thread has last had a processor, by a clock of the scheduler's that all threads share.
std::optional<double> last_ran(const std::string& folder) {
  std::ifstream stream(folder + "sched");
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("se.exec_start", 0) != 0) continue;
    return std::strtod(line.c_str() + line.find(':') + 1, nullptr) / 1000;
  }
  return std::nullopt;
}

// "0100007F:1F90", in the order in which the kernel has the bytes in its words.
std::string readable(const std::string& hexadecimal) {
  const std::size_t colon = hexadecimal.find(':');
  if (colon != 8 && colon != 32) return hexadecimal;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i)
    words[i] = static_cast<std::uint32_t>(std::stoul(hexadecimal.substr(8 * i, 8), nullptr, 16));
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(colon == 8 ? AF_INET : AF_INET6, words.data(), text, sizeof text);
  const std::string port = std::to_string(std::stoul(hexadecimal.substr(colon + 1), nullptr, 16));
  return colon == 8 ? text + (":" + port) : "[" + std::string(text) + "]:" + port;
}

std::set<std::string> socket_inodes(int pid) {
  std::set<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(proc(pid, "fd"), none)) {
    const std::string target = fs::read_symlink(entry.path(), none).string();
    if (target.rfind("socket:[", 0) == 0) found.insert(target.substr(8, target.size() - 9));
  }
  return found;
}

void add_sockets(int pid, const char* table, const std::set<std::string>& own,
                 std::vector<Socket>& to) {
  std::ifstream stream(proc(pid, table));
  std::string line;
  std::getline(stream, line);  // the head
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >>
        inode;
    const std::size_t colon = queues.find(':');
    if (state != "01" || colon == std::string::npos || own.count(inode) == 0)
      continue;  // established
    to.push_back(
        {readable(local), readable(remote), std::stoull(queues.substr(0, colon), nullptr, 16),
         std::stoull(queues.substr(colon + 1), nullptr, 16), std::stoull(retries, nullptr, 16)});
  }
}

}  // namespace

std::vector<int> processes() {
  std::vector<int> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc", none)) {
    const std::string name = entry.path().filename().string();
    if (std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
      found.push_back(std::atoi(name.c_str()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint32_t own_pid(int pid) {
  std::ifstream status(proc(pid, "status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NSpid:", 0) != 0) continue;
    std::istringstream words(line.substr(6));
    std::uint32_t number = 0;
    while (words >> number) continue;
    return number;
  }
  return static_cast<std::uint32_t>(pid);
}

std::optional<double> seconds_off(int pid) {
  const std::optional<double> then = last_ran(proc(pid, ""));
  const std::optional<double> now = last_ran("/proc/self/");
  if (!then || !now) return std::nullopt;
  return std::max(0.0, *now - *then);
}

void describe_process(int pid, Rank& rank) {
  rank.pid = pid;
  rank.program = first_line(proc(pid, "comm"));
  rank.state = state_of(first_line(proc(pid, "stat")));
  rank.sleeps_in = rank.state == 'R' ? std::string() : wchan(proc(pid, ""));
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(proc(pid, "task"), none)) {
    const std::string folder = entry.path().string() + "/";
    if (first_line(folder + "comm") != "lfc-ni") continue;
    rank.thread_state = state_of(first_line(folder + "stat"));
    if (rank.thread_state != "R") rank.thread_state += " " + wchan(folder);
  }
  const std::set<std::string> own = socket_inodes(pid);
  rank.sockets.clear();
  add_sockets(pid, "net/tcp", own, rank.sockets);
  add_sockets(pid, "net/tcp6", own, rank.sockets);
}

}  // namespace look
