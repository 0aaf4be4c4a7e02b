// Api: the functions of libibverbs, which is loaded for the first link. A machine without it has no such link, and
// nothing else changes.
//
//   std::string why_not;
//   const Api* api = load_api(why_not);               // null: not here
//   Handle<ibv_pd> pd = own(api->alloc_pd(context), api->dealloc_pd);
//
// Functions that the header defines inline (posting work, polling for completions) need no library and are called as
// usual.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

namespace lfc::verbs {

struct Api {
  decltype(&::ibv_fork_init) fork_init;
  decltype(&::ibv_get_device_list) get_device_list;
  decltype(&::ibv_free_device_list) free_device_list;
  decltype(&::ibv_get_device_name) get_device_name;
  decltype(&::ibv_open_device) open_device;
  decltype(&::ibv_close_device) close_device;
  decltype(&::ibv_query_device) query_device;
  decltype(&::ibv_query_port) query_port;  // for libraries before version 19, without extensions
  decltype(&::_ibv_query_gid_table) query_gid_table;
  decltype(&::ibv_alloc_pd) alloc_pd;
  decltype(&::ibv_dealloc_pd) dealloc_pd;
  decltype(&::ibv_reg_mr) reg_mr;
  decltype(&::ibv_dereg_mr) dereg_mr;
  decltype(&::ibv_create_comp_channel) create_comp_channel;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel;
  decltype(&::ibv_create_cq) create_cq;
  decltype(&::ibv_destroy_cq) destroy_cq;
  decltype(&::ibv_get_cq_event) get_cq_event;
  decltype(&::ibv_ack_cq_events) ack_cq_events;
  decltype(&::ibv_create_srq) create_srq;
  decltype(&::ibv_destroy_srq) destroy_srq;
  decltype(&::ibv_create_qp) create_qp;
  decltype(&::ibv_modify_qp) modify_qp;
  decltype(&::ibv_destroy_qp) destroy_qp;
  decltype(&::ibv_create_ah) create_ah;
  decltype(&::ibv_destroy_ah) destroy_ah;
  decltype(&::ibv_get_async_event) get_async_event;
  decltype(&::ibv_ack_async_event) ack_async_event;
  decltype(&::ibv_wc_status_str) wc_status_str;
};

// Loads the library once; it is never unloaded. Null: `why_not` is one line with the reason.
const Api* load_api(std::string& why_not);

// Handle: owner of an object of the library.
template <class Object>
struct Closer {
  int (*close)(Object*) = nullptr;
  void operator()(Object* object) const noexcept { close(object); }
};
template <class Object>
using Handle = std::unique_ptr<Object, Closer<Object>>;

template <class Object>
Handle<Object> own(Object* object, int (*close)(Object*)) noexcept {
  return Handle<Object>(object, Closer<Object>{close});
}

}  // namespace lfc::verbs
