#include "requests.hpp"

#include <mutex>

#include "calls.hpp"

namespace lfc::neon {

int mpi_error(Status status) noexcept {
  switch (status) {
    case Status::ok: return MPI_SUCCESS;
    case Status::range: return MPI_ERR_RMA_RANGE;
    case Status::withdrawn: return MPI_ERR_RMA_SYNC;
    case Status::unreachable: return MPI_ERR_OTHER;
    case Status::busy: return MPI_ERR_RMA_CONFLICT;
    case Status::rank: return MPI_ERR_RANK;
  }
  return MPI_ERR_INTERN;
}

// --- Job ---

const lfc_request_hooks Job::hooks = {nullptr, Job::freed};

void Job::reset() {
  request = MPI_REQUEST_NULL;
  target = MPI_PROC_NULL;
  status = Status::ok;
  open = used = 0;
  starting = true;
  orphan = delivered = spreads = false;
  runs.clear();
  runs.shrink_to_fit();
  bytes.clear();
  bytes.shrink_to_fit();
}

Operation& Job::add() {
  if (used == operations.size()) operations.emplace_back();
  Operation& op = operations[used++];
  op = Operation{};
  op.done = on_done;
  op.context = this;
  ++open;
  return op;
}

void Job::on_done(Operation* op, Status status) {
  Job& job = *static_cast<Job*>(op->context);
  if (status != Status::ok) job.status = status;
  if (--job.open == 0 && !job.starting) job.window.jobs().ended(job);
}

int Job::begun(Status refusal, int to, MPI_Request* handle) {
  Endpoint& endpoint = window.endpoint();
  starting = false;
  if (handle != nullptr) *handle = MPI_REQUEST_NULL;
  if (refusal != Status::ok) {
    --open;  // the refused operation
    status = refusal;
    if (open > 0) {
      window.retain();  // the operations that have begun end without a request
    } else {
      window.jobs().recycle(this);
    }
    endpoint.unlock();
    return mpi_error(refusal);
  }
  int error = MPI_SUCCESS;
  if (open > 0) {
    target = to;
    window.retain();
    if (handle != nullptr) request = *handle = lfc_request_new(this, &hooks, 0, window.control());
  } else {
    spread();
    error = mpi_error(status);
    window.jobs().recycle(this);
    if (handle != nullptr) *handle = lfc_request_finished();
  }
  endpoint.unlock();
  return error;
}

void Job::spread() {
  if (!spreads || status != Status::ok) return;
  if (source.contiguous()) {
    destination.scatter(result, bytes.data());
    return;
  }
  std::vector<std::byte> packed(source.bytes());
  source.gather(packed.data(), bytes.data() - source.begin());
  destination.scatter(result, packed.data());
}

// Completes the request with the lock: from then on another thread may free it, and with it this job.
void Job::deliver() {
  spread();
  Window& of = window;
  of.endpoint().lock();
  delivered = true;
  const bool awaited = request != MPI_REQUEST_NULL && !orphan;
  if (awaited) {
    if (of.closed()) lfc_request_move(request, lfc_errors_comm());
    lfc_request_complete(request, mpi_error(status), target, 0);
  } else {
    if (request != MPI_REQUEST_NULL) lfc_request_end(request);
    of.jobs().note(mpi_error(status));
    of.jobs().recycle(this);
  }
  of.endpoint().unlock();
  if (!awaited) of.release();
}

int Job::freed(void* object) {
  Job& job = *static_cast<Job*>(object);
  Window& of = job.window;
  if (of.closed()) {
    delete &job;
    of.release();
    return 1;
  }
  {
    const std::lock_guard guard(of.endpoint());
    if (!job.delivered) {
      job.orphan = true;
      return 0;
    }
    of.jobs().recycle(&job);
  }
  of.release();
  return 1;
}

// --- Announced ---

const lfc_request_hooks Announced::hooks = {Announced::start, Announced::free};

int Announced::start(void* object, int active) {
  Announced& self = *static_cast<Announced*>(object);
  if (self.window.closed()) {
    MPI_Comm_call_errhandler(lfc_errors_comm(), MPI_ERR_WIN);
    return MPI_ERR_WIN;
  }
  if (active != 0) return self.window.fail(MPI_ERR_REQUEST);
  const Status status =
      self.persistent ? start_persistent(self) : self.window.endpoint().announce(self);
  self.window.deliver();
  return self.window.fail(mpi_error(status));
}

Status Announced::start_persistent(Announced& self) {
  const std::lock_guard guard(self.window.endpoint());
  if (!self.live) return self.window.endpoint().neon().target().announce(self);
  self.done(&self, Status::ok);  // it stays open
  return Status::ok;
}

int Announced::free(void* object) {
  Announced& self = *static_cast<Announced*>(object);
  if (!self.window.closed()) {
    Endpoint& endpoint = self.window.endpoint();
    {
      const std::lock_guard guard(endpoint);
      endpoint.neon().target().withdraw(self);
    }
    // From here on the memory is the program's: no origin that has its address may still write.
    wait_until([&] {
      const std::lock_guard guard(endpoint);
      return self.unheard == 0;
    });
    endpoint.conceal(self);
    const std::lock_guard guard(endpoint);
    if (self.listed) {
      self.freed = true;
      return 0;
    }
  }
  delete &self;
  return 1;
}

bool Announced::complete() {
  listed = false;
  if (freed) {
    lfc_request_end(request);
    return false;
  }
  if (window.closed()) lfc_request_move(request, lfc_errors_comm());
  const bool alone = origins.size() == 1;
  lfc_request_complete(request, mpi_error(outcome),
                       alone ? static_cast<int>(origins[0]) : MPI_ANY_SOURCE, size);
  return true;
}

}  // namespace lfc::neon
