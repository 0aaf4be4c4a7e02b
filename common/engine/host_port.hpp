// HostPort: the rank side's access to the control program, for services: it drives the control program during a wait,
// and reports its activity. The engine's is HostSide (engine/host_side.hpp); a test may have its own.
//
//   { const HostPort::Attendance attendance(host);            // the NI thread need not drive it
//     while (!arrived) host.progress(); }
//   { const HostPort::Together together(host);                // frames may wait for later ones
//     for (Operation* operation : finished) operation->done(operation, Result::ok); }
//
// All are called without ServicePort::Access: queries by any thread, the others by the host.
#pragma once

namespace lfc {

class HostPort {
 public:
  // Config::threads: several threads of the host may be in the engine at a time.
  virtual bool has_threads() const noexcept = 0;
  // The engine has a thread (Config::policy), so the control program goes on while the host does something else.
  virtual bool goes_on_alone() const noexcept = 0;
  // The calling thread is the engine's and not the host's.
  virtual bool is_engine() const noexcept = 0;
  // As Ni::progress().
  virtual int progress() noexcept = 0;
  // A pass from a place where the host cannot be called back; callbacks wait until progress(). Not with has_threads().
  virtual int pass_away() noexcept = 0;

  // Reports that the host leaves MPI although its node has to forward frames that may come soon
  // (engine/departure.hpp). Called after the last poll, outside of an Attendance.
  virtual void leaving() noexcept = 0;

  // Scope in which some thread of the host polls without a pause: Activity::begin_polling().
  class Attendance {
   public:
    explicit Attendance(HostPort& host) noexcept : host_(host) { host_.begin_polling(); }
    ~Attendance() { host_.leave(); }
    Attendance(const Attendance&) = delete;
    Attendance& operator=(const Attendance&) = delete;

   private:
    HostPort& host_;
  };

  // Scope in which frames that the host sends may be batched; at its end they have left. For short callbacks: the
  // replies to the completions of one pass then cost one system call, and no thread has to watch the batched frames.
  // If the host has several threads, it does nothing. Held by tests/unit/engine/ni_thread/streams_test.cpp.
  class Together {
   public:
    explicit Together(HostPort& host) noexcept : host_(host), begun_(host.begin_together()) {}
    ~Together() {
      if (begun_) host_.end_together();
    }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    HostPort& host_;
    const bool begun_;
  };

 protected:
  ~HostPort() = default;

 private:
  virtual void begin_polling() noexcept = 0;
  virtual void leave() noexcept = 0;
  // False: a scope is open already, or none is possible.
  virtual bool begin_together() noexcept = 0;
  virtual void end_together() noexcept = 0;
};

}  // namespace lfc
