// Work: computing and sleeping for a given time.
#pragma once

namespace app {

// Does work that the compiler can neither drop nor move and that does not touch memory. One unit
// takes some nanoseconds.
void toil(long units);

// Computes for a number of microseconds of an undisturbed core, the same work on every rank.
class Work {
 public:
  // Collective.
  Work();
  void operator()(double us) const { toil(static_cast<long>(us * units_per_us_)); }

 private:
  double units_per_us_ = 0;
};

void sleep_us(double us);

}  // namespace app
