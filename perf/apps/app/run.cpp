#include "app/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app/job.hpp"

namespace app {
namespace {

extern "C" void app_on_alarm(int) {
  char line[96];
  const int n = std::snprintf(line, sizeof line, "HANG %s rank %d of %d\n", name, rank, ranks);
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(n)) != n) std::_Exit(125);
  std::_Exit(124);
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

Run::Run(Options& options) {
  options.finish();
  std::signal(SIGALRM, app_on_alarm);
  alarm(static_cast<unsigned>(options.limit()));
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

Run::~Run() {
  if (!right_) std::_Exit(1);  // main has thrown: end the job
  MPI_Finalize();
  if (rank == 0) std::printf("ok\n");
}

void Run::report(const Series& series) {
  series_.push_back(series);
  if (rank != 0) return;
  const auto at = [&](double q) { return quantile(series.values, q); };
  std::printf(
      "{\"bench\":\"%s\",\"size\":%ld,\"depth\":1,\"ranks\":%d,\"seed\":%llu,"
      "\"median\":%.6g,\"min\":%.6g,\"p25\":%.6g,\"p75\":%.6g,\"repeats\":%zu,"
      "\"unit\":\"%s\"",
      series.bench.c_str(), series.size, ranks, static_cast<unsigned long long>(seed), at(0.5),
      at(0), at(0.25), at(0.75), series.values.size(), series.unit.c_str());
  for (const auto& [key, value] : series.counts) std::printf(",\"%s\":%.10g", key.c_str(), value);
  for (std::size_t i = 0; i < series.against.size(); ++i)
    std::printf("%s\"%s\"%s", i == 0 ? ",\"against\":[" : ",", series.against[i].c_str(),
                i + 1 == series.against.size() ? "]" : "");
  std::printf("}\n%s, size %ld, %d ranks: %.4g %s [%.4g..%.4g]", series.bench.c_str(), series.size,
              ranks, at(0.5), series.unit.c_str(), at(0.25), at(0.75));
  for (const auto& [key, value] : series.counts) std::printf(", %s %.6g", key.c_str(), value);
  std::printf("\n");
  std::fflush(stdout);
}

void Run::absent(const std::string& bench, long size, const std::string& why) {
  if (rank != 0) return;
  std::printf("{\"bench\":\"%s\",\"size\":%ld,\"depth\":1,\"absent\":\"%s\"}\n%s: absent, %s\n",
              bench.c_str(), size, why.c_str(), bench.c_str(), why.c_str());
  std::fflush(stdout);
}

int Run::finish() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) show_ratios();
  right_ = true;
  return 0;
}

void Run::show_ratios() const {
  for (const auto& one : series_) {
    for (const auto& other : series_) {
      const bool wanted = std::count(one.against.begin(), one.against.end(), other.bench) > 0;
      if (!wanted || one.size != other.size || one.bench == other.bench) continue;
      std::vector<double> ratios;
      for (std::size_t i = 0; i < std::min(one.values.size(), other.values.size()); ++i)
        if (other.values[i] > 0) ratios.push_back(one.values[i] / other.values[i]);
      if (ratios.empty()) continue;
      std::printf("%s / %s, size %ld: %.3f [%.3f..%.3f]\n", one.bench.c_str(), other.bench.c_str(),
                  one.size, quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75));
    }
  }
}

}  // namespace app
