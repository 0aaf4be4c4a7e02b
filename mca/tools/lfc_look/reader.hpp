// Reader: the rows that a process shows (common/look/records.hpp), from its memory. Each pointer that it follows may be
// torn, or stale by the time it is read. So all reads are bounded and checked, and unreadable rows are left out.
//
//   Reader reader(pid);
//   std::string problem;
//   if (!reader.open(problem)) ...                       // one line for the user
//   std::vector<Row> rows = reader.rows();               // any number of times
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "look/records.hpp"
#include "memory.hpp"
#include "snapshot.hpp"

namespace look {

class Reader {
 public:
  explicit Reader(int pid) noexcept : pid_(pid), memory_(pid) {}

  // False: it shows nothing; `problem` is empty if that is because it has not loaded LFC.
  bool open(std::string& problem);
  std::vector<Row> rows();

 private:
  // The contents of a schema.
  struct Known {
    std::string name;
    std::vector<lfc::look::Field> fields;
    std::vector<std::string> names;
    std::uint64_t extent = 0;  // bytes of an object that its fields begin in
  };

  bool find_root(const Mapping& mapping, std::string& problem);
  const Known& schema(std::uint64_t address);
  Row row(const Known& known, std::uint64_t object) const;
  std::uint64_t place_of(const lfc::look::Field& field, std::uint64_t object) const;
  bool value(const lfc::look::Field& field, std::uint64_t at, Row::Value& to) const;

  int pid_;
  Memory memory_;
  std::uint64_t root_ = 0;
  std::map<std::uint64_t, Known> schemas_;
};

}  // namespace look
