#include "base/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lfc {
namespace {

constexpr std::size_t kShownBytes = 8;

std::size_t padded(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// The build id among the notes of a segment; empty: it is not there.
std::string find_id(const char* notes, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = sizeof note, bytes = name + padded(note.n_namesz);
    const std::size_t end = bytes + padded(note.n_descsz);
    if (end > size) break;
    if (note.n_type == NT_GNU_BUILD_ID &&
        std::string_view(notes + name, note.n_namesz) == std::string_view("GNU", 4)) {
      std::string id;
      for (std::size_t i = 0; i < std::min<std::size_t>(note.n_descsz, kShownBytes); ++i) {
        const auto byte = static_cast<unsigned char>(notes[bytes + i]);
        id += "0123456789abcdef"[byte >> 4];
        id += "0123456789abcdef"[byte & 15];
      }
      return id;
    }
    notes += end;
    size -= end;
  }
  return {};
}

struct Library {
  std::string id = "unknown";
  std::string path;
};

int visit(dl_phdr_info* library, std::size_t, void* into) {
  if (std::string_view(library->dlpi_name).find("/liblfc.so") == std::string_view::npos) return 0;
  auto& loaded = *static_cast<Library*>(into);
  loaded.path = library->dlpi_name;
  for (std::size_t i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const std::string found =
        find_id(reinterpret_cast<const char*>(library->dlpi_addr + part.p_vaddr), part.p_memsz);
    if (!found.empty()) loaded.id = found;
  }
  return 1;
}

Library loaded_library() {
  Library loaded;
  dl_iterate_phdr(visit, &loaded);
  return loaded;
}

}  // namespace

std::string build_id() { return loaded_library().id; }
std::string library_path() { return loaded_library().path; }

}  // namespace lfc
