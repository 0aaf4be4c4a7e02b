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

int Jobs::complete_announced() {
  int events = 0;
  for (; !announced_.empty(); ++events) {
    Announced* const each = announced_.pop();
    if (!each->complete()) freed_.push(each);
  }
  news_.store(!jobs_.empty() || !freed_.empty(), std::memory_order_relaxed);
  return events;
}

int Jobs::deliver_ended(Endpoint& endpoint) {
  Fifo<Job> jobs;
  Fifo<Announced> freed;
  int events = 0;
  {
    const std::lock_guard guard(endpoint);
    events = complete_announced();
    std::swap(jobs, jobs_);
    std::swap(freed, freed_);
    news_.store(false, std::memory_order_relaxed);
  }
  for (; !jobs.empty(); ++events) jobs.pop()->deliver();
  while (!freed.empty()) delete freed.pop();
  return events;
}

}  // namespace lfc::neon
