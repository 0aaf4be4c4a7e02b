#include "link/verbs/api.hpp"

#include <dlfcn.h>

#include <optional>

#include "base/lasting.hpp"

namespace lfc::verbs {
namespace {

class Loader {
 public:
  explicit Loader(void* library) noexcept : library_(library) {}
  template <class Function>
  void find(const char* name, Function& function) noexcept {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  const char* missing() const noexcept { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

std::optional<Api> load(std::string& why_not) {
  void* library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why_not = "libibverbs.so.1 is not installed";
    return std::nullopt;
  }
  Api api{};
  Loader loader(library);
  loader.find("ibv_fork_init", api.fork_init);
  loader.find("ibv_get_device_list", api.get_device_list);
  loader.find("ibv_free_device_list", api.free_device_list);
  loader.find("ibv_get_device_name", api.get_device_name);
  loader.find("ibv_open_device", api.open_device);
  loader.find("ibv_close_device", api.close_device);
  loader.find("ibv_query_device", api.query_device);
  loader.find("ibv_query_port", api.query_port);
  loader.find("_ibv_query_gid_table", api.query_gid_table);
  loader.find("ibv_alloc_pd", api.alloc_pd);
  loader.find("ibv_dealloc_pd", api.dealloc_pd);
  loader.find("ibv_reg_mr", api.reg_mr);
  loader.find("ibv_dereg_mr", api.dereg_mr);
  loader.find("ibv_create_comp_channel", api.create_comp_channel);
  loader.find("ibv_destroy_comp_channel", api.destroy_comp_channel);
  loader.find("ibv_create_cq", api.create_cq);
  loader.find("ibv_destroy_cq", api.destroy_cq);
  loader.find("ibv_get_cq_event", api.get_cq_event);
  loader.find("ibv_ack_cq_events", api.ack_cq_events);
  loader.find("ibv_create_srq", api.create_srq);
  loader.find("ibv_destroy_srq", api.destroy_srq);
  loader.find("ibv_create_qp", api.create_qp);
  loader.find("ibv_modify_qp", api.modify_qp);
  loader.find("ibv_destroy_qp", api.destroy_qp);
  loader.find("ibv_create_ah", api.create_ah);
  loader.find("ibv_destroy_ah", api.destroy_ah);
  loader.find("ibv_get_async_event", api.get_async_event);
  loader.find("ibv_ack_async_event", api.ack_async_event);
  loader.find("ibv_wc_status_str", api.wc_status_str);
  if (loader.missing() != nullptr) {
    why_not = std::string("libibverbs is too old: it lacks ") + loader.missing();
    return std::nullopt;
  }
  // A write of a child process must not move a registered page away from the device. Kernels since 5.12 prevent that
  // themselves, and then this call does nothing. It fails if memory has been registered before, which is no error.
  static_cast<void>(api.fork_init());
  return api;
}

}  // namespace

const Api* load_api(std::string& why_not) {
  static Lasting<std::string> why;
  static const std::optional<Api> api = load(*why);
  why_not = *why;
  return api ? &*api : nullptr;
}

}  // namespace lfc::verbs
