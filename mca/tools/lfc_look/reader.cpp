#include "reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "process.hpp"

namespace look {
namespace {

using lfc::look::Field;
using lfc::look::Root;
using lfc::look::Schema;
using lfc::look::Shown;

// More than any process has: a larger number was read while it changed.
constexpr std::size_t kMostShown = 1 << 20;
constexpr std::size_t kMostRows = 1 << 16;  // of one
constexpr std::size_t kMostFields = 256;
constexpr std::size_t kMostExtent = 1 << 16;
constexpr std::size_t kMostName = 64;
constexpr std::size_t kMostList = 1 << 12;

std::uint64_t address_of(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

bool Reader::find_root(const Mapping& mapping, std::string& problem) {
  std::vector<char> bytes(mapping.end - mapping.begin);
  if (!memory_.read(mapping.begin, bytes.data(), bytes.size())) {
    problem = refusal(pid_, errno);
    return false;
  }
  for (std::size_t at = 0; at + sizeof(Root) <= bytes.size(); at += alignof(Root)) {
    if (std::memcmp(bytes.data() + at, lfc::look::kMagic, lfc::look::kMagicBytes) != 0) continue;
    Root root{};
    std::memcpy(&root, bytes.data() + at, sizeof root);
    if (root.version != lfc::look::kVersion) {
      problem = "process " + std::to_string(pid_) + " shows records of version " +
                std::to_string(root.version) + ", and this lfc-look knows " +
                std::to_string(lfc::look::kVersion) + ": use the one of the LFC that it runs with";
      return false;
    }
    if (root.process != own_pid(pid_)) continue;  // left by the process that it was forked from
    root_ = mapping.begin + at;
    return true;
  }
  return false;
}

bool Reader::open(std::string& problem) {
  for (const Mapping& mapping : memory_.mappings(problem)) {
    if (!mapping.writable || mapping.file.find("/liblfc.so") == std::string::npos) continue;
    if (find_root(mapping, problem)) return true;
  }
  return false;
}

const Reader::Known& Reader::schema(std::uint64_t address) {
  const auto [entry, fresh] = schemas_.try_emplace(address);
  Known& known = entry->second;
  Schema schema{};
  if (!fresh || !memory_.read(address, &schema, sizeof schema)) return known;
  known.name = memory_.text(address_of(schema.name), kMostName);
  std::vector<Field> fields(std::min<std::uint64_t>(schema.count, kMostFields));
  if (!memory_.read(address_of(schema.fields), fields.data(), fields.size() * sizeof(Field)))
    return known;
  for (const Field& field : fields) {
    const std::uint64_t end =
        field.path[0] + (field.hops == 0 ? std::uint64_t{field.size} : sizeof(void*));
    if (field.hops > Field::kMostHops || end > kMostExtent || field.size > kMostName ||
        field.kind > lfc::look::Kind::list || field.size == 0 ||
        (field.kind != lfc::look::Kind::text && field.size > sizeof(std::uint64_t)))
      continue;
    known.fields.push_back(field);
    known.names.push_back(memory_.text(address_of(field.name), kMostName));
    known.extent = std::max(known.extent, end);
  }
  return known;
}

// Where the value lies; 0: an address on the way is null, or leads nowhere.
std::uint64_t Reader::place_of(const Field& field, std::uint64_t object) const {
  std::uint64_t at = object + field.path[0];
  for (std::size_t hop = 1; hop <= field.hops; ++hop) {
    if (!memory_.read(at, &at, sizeof at) || at == 0) return 0;
    at += field.path[hop];
  }
  return at;
}

bool Reader::value(const Field& field, std::uint64_t at, Row::Value& to) const {
  switch (field.kind) {
    case lfc::look::Kind::number: return memory_.read(at, &to.number, field.size);
    case lfc::look::Kind::text: to.text = memory_.text(at, field.size); return !to.text.empty();
    case lfc::look::Kind::list: break;
  }
  std::uint64_t ends[2];
  if (!memory_.read(at, ends, sizeof ends) || ends[1] < ends[0]) return false;
  to.number = (ends[1] - ends[0]) / field.size;
  if (to.number > kMostList) return false;
  for (std::uint64_t from = ends[0]; from + field.size <= ends[1]; from += field.size) {
    std::uint64_t number = 0;
    if (!memory_.read(from, &number, field.size)) return false;
    to.list.push_back(number);
  }
  return true;
}

// Numbers of the object itself are read at once, so that they fit together.
Row Reader::row(const Known& known, std::uint64_t object) const {
  Row made{known.name};
  std::vector<char> bytes(known.extent);
  if (!memory_.read(object, bytes.data(), bytes.size())) return made;
  for (std::size_t i = 0; i < known.fields.size(); ++i) {
    Row::Value value{known.names[i]};
    const Field& field = known.fields[i];
    if (field.hops == 0 && field.kind == lfc::look::Kind::number) {
      std::memcpy(&value.number, bytes.data() + field.path[0], field.size);
    } else if (const std::uint64_t at = place_of(field, object);
               at == 0 || !this->value(field, at, value)) {
      continue;
    }
    made.values.push_back(std::move(value));
  }
  return made;
}

std::vector<Row> Reader::rows() {
  std::vector<Row> found;
  Root root{};
  if (!memory_.read(root_, &root, sizeof root)) return found;
  std::size_t count = 0;
  Shown shown{};
  for (std::uint64_t at = address_of(root.first); at != 0 && ++count <= kMostShown;
       at = address_of(shown.next)) {
    if (!memory_.read(at, &shown, sizeof shown)) break;
    const Known& known = schema(address_of(shown.schema));
    if (known.fields.empty()) continue;
    for (std::size_t i = 0; i < std::min<std::size_t>(shown.count, kMostRows); ++i) {
      found.push_back(row(known, address_of(shown.rows) + i * shown.stride));
      found.back().owner = shown.owner;
      found.back().index = i;
    }
  }
  return found;
}

}  // namespace look
