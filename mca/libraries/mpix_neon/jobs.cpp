#include "jobs.hpp"

#include <mutex>

#include "requests.hpp"

namespace lfc::neon {

Jobs::~Jobs() {
  for (Job* each : idle_) delete each;
}

Job* Jobs::take(Window& of) {
  if (idle_.empty()) return new Job(of);
  Job* job = idle_.back();
  idle_.pop_back();
  return job;
}

void Jobs::recycle(Job* job) {
  job->reset();
  idle_.push_back(job);
}

int Jobs::deliver_ended(Endpoint& endpoint) {
  Fifo<Job> jobs;
  Fifo<Announced> announced;
  {
    const std::lock_guard guard(endpoint);
    std::swap(jobs, jobs_);
    std::swap(announced, announced_);
    news_.store(false, std::memory_order_relaxed);
  }
  int events = 0;
  for (; !jobs.empty(); ++events) jobs.pop()->deliver();
  for (; !announced.empty(); ++events) announced.pop()->deliver();
  return events;
}

}  // namespace lfc::neon
