// libfabric's functions, from a library that is loaded with the first call. Its providers search for devices while they
// are loaded, for a fifth of a second on some machines, and most jobs use no link `ofi`. The symbols are hidden, so
// that other libraries do not use them. Frequent calls go through tables that these functions fill.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

namespace {

// Null: the library is not installed.
void* find(const char* name) noexcept {
  static void* const library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, name);
}

template <class Function>
Function* late(Function*, const char* name) noexcept {
  return reinterpret_cast<Function*>(find(name));
}

}  // namespace

extern "C" {

[[gnu::visibility("hidden")]] int fi_getinfo(uint32_t version, const char* node,
                                             const char* service, uint64_t flags,
                                             const struct fi_info* hints, struct fi_info** info) {
  static const auto call = late(&fi_getinfo, "fi_getinfo");
  return call == nullptr ? -FI_ENOSYS : call(version, node, service, flags, hints, info);
}

[[gnu::visibility("hidden")]] void fi_freeinfo(struct fi_info* info) {
  static const auto call = late(&fi_freeinfo, "fi_freeinfo");
  if (call != nullptr) call(info);
}

[[gnu::visibility("hidden")]] struct fi_info* fi_dupinfo(const struct fi_info* info) {
  static const auto call = late(&fi_dupinfo, "fi_dupinfo");
  return call == nullptr ? nullptr : call(info);
}

[[gnu::visibility("hidden")]] int fi_fabric(struct fi_fabric_attr* attributes,
                                            struct fid_fabric** fabric, void* context) {
  static const auto call = late(&fi_fabric, "fi_fabric");
  return call == nullptr ? -FI_ENOSYS : call(attributes, fabric, context);
}

[[gnu::visibility("hidden")]] const char* fi_strerror(int error) {
  static const auto call = late(&fi_strerror, "fi_strerror");
  return call == nullptr ? "libfabric.so.1 is not here" : call(error);
}
}
