// Options: the words of the command line.
#pragma once

#include <string>
#include <vector>

namespace app {

// The program's options. A read of an option declares it; Run rejects options that were not declared.
class Options {
 public:
  Options(int argc, char** argv, const char* program, const char* what);

  bool flag(const char* option, const char* what);
  // Returns a number of at least 0. `quick` is the default with --quick.
  int number(const char* option, int usual, int quick, const char* what);
  double real(const char* option, double usual, double quick, const char* what);
  // Returns one of some words; the first is the default.
  std::string choice(const char* option, const std::vector<std::string>& known, const char* what);
  // Returns some of the words, separated by commas, or `all`.
  std::vector<std::string> choices(const char* option, const std::vector<std::string>& known,
                                   const std::vector<std::string>& usual, const char* what);
  // Returns integers separated by commas.
  std::vector<int> numbers(const char* option, std::vector<int> usual, std::vector<int> quick,
                           const char* what);

  [[nodiscard]] bool quick() const { return quick_; }
  [[nodiscard]] int repeats() const { return repeats_; }
  [[nodiscard]] int limit() const { return limit_; }

  // Handles --help, and rejects options that were not declared. Run calls it.
  void finish();

 private:
  void describe(const std::string& option, const std::string& values, const char* what);
  const std::string* value_of(const char* option);

  std::vector<std::string> words_;
  std::vector<bool> used_;
  std::string help_;
  bool quick_ = false;
  int repeats_ = 1;
  int limit_ = 60;
};

}  // namespace app
