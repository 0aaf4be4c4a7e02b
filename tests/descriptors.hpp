// AllDescriptors: all file descriptors of this process. While it exists, only returned ones can be opened.
//
//   AllDescriptors taken;
//   taken.give_back();       // now one file can be opened
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

class AllDescriptors {
 public:
  AllDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = std::min<rlim_t>(before_.rlim_cur, 1024);
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
  }
  ~AllDescriptors() {
    while (!taken_.empty()) give_back();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  AllDescriptors(const AllDescriptors&) = delete;
  AllDescriptors& operator=(const AllDescriptors&) = delete;
  void give_back() {
    ::close(taken_.back());
    taken_.pop_back();
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};
