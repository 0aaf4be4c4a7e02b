// HostPort: what the rank's side of a service has of the control program: it drives it while it waits for something,
// and says what it does meanwhile. The engine's is HostSide (engine/host_side.hpp); a test may have one of its own.
//
//   { const HostPort::Attendance attendance(host);            // nobody else need drive it
//     while (!arrived) host.progress(); }
//   { const HostPort::Together together(host);                // what is sent may wait for what follows
//     for (Operation* operation : finished) operation->done(operation, Result::ok); }
//
// All without ServicePort::Access, by the host; what is only asked, by anybody.
#pragma once

namespace lfc {

class HostPort {
 public:
  // Config::threads: several threads of the host may be in the engine at a time.
  virtual bool has_threads() const noexcept = 0;
  // The engine has a thread (Config::policy), so the control program goes on while the host does something else.
  virtual bool goes_on_alone() const noexcept = 0;
  // The caller is no thread of the host, but the engine's.
  virtual bool is_engine() const noexcept = 0;
  // As Ni::progress().
  virtual int progress() noexcept = 0;
  // A pass from where the host cannot be called back; what comes for it waits until progress(). Not with has_threads().
  virtual int pass_away() noexcept = 0;

  // Some thread of the host polls without a pause: Activity::attend().
  class Attendance {
   public:
    explicit Attendance(HostPort& host) noexcept : host_(host) { host_.attend(); }
    ~Attendance() { host_.leave(); }
    Attendance(const Attendance&) = delete;
    Attendance& operator=(const Attendance&) = delete;

   private:
    HostPort& host_;
  };

  // While it lives, frames that the host sends may wait for each other; at its end they have left. For short callbacks:
  // the answers to what one pass has finished then cost one system call, and nobody has to watch what is kept. Where
  // the host has several threads it does nothing. Held by tests/unit/engine/ni_thread/streams_test.cpp.
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
  virtual void attend() noexcept = 0;
  virtual void leave() noexcept = 0;
  // False: it is together already, or cannot be.
  virtual bool begin_together() noexcept = 0;
  virtual void end_together() noexcept = 0;
};

}  // namespace lfc
