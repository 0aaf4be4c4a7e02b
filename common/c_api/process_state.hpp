// ProcessState: all that the C API keeps for this process from one call to the next. A function of C has no object of
// its own, so each member below belongs to one header of common/lfc.
//
//   ProcessState& state = process_state();
//   state.partitioned.open([&](Ni& ni) { return new Partitioned(ni.services(), ni.remote(), callbacks); });
//   if (state.partitioned.service != nullptr) state.partitioned.service->progress();
//   state.partitioned.close();
//
// Two things are elsewhere. The engine is in engine/process_ni.hpp, because libraries of C++ use it without the C API.
// The texts of the tables of parameters are in parameters.cpp: they belong to constant tables.
//
// Threads: the functions that open and close a member are called alone and write to it; all others only read it, and
// may be called by any thread. Exceptions stand at their members.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/lasting.hpp"
#include "c_api/message_routes.hpp"
#include "engine/process_ni.hpp"
#include "lfc/messages.h"
#include "lfc/partitioned.h"
#include "lfc/windows.h"
#include "services/channels/protocol/plan.hpp"
#include "services/channels/protocol/recording.hpp"

namespace lfc {

class Collectives;
class Partitioned;
class WindowService;
namespace channels {
class HostChannels;  // of channels.cpp
}

struct ProcessState {
  // Attached: a service, and the engine on which it runs. The engine exists until the service is closed.
  template <class Service>
  struct Attached {
    // Makes the service by make(ni), unless it is open. False: no engine is open.
    template <class Make>
    bool open(Make make) {
      if (service != nullptr) return true;
      std::shared_ptr<Ni> found = process_ni();
      if (found == nullptr) return false;
      service = make(*found);
      ni = std::move(found);
      return true;
    }
    void close() noexcept {
      delete service;  // which may still call functions that find it here
      service = nullptr;
      ni.reset();
    }

    Service* service = nullptr;  // null: it is not open
    std::shared_ptr<Ni> ni;
  };

  // lfc/messages.h
  struct Messages {
    lfc_adapter* adapter = nullptr;  // null: it is not open
    // The next two are the adapter's, and set before it exists: the engine prints notices while it opens.
    lfc_host host{};
    std::uint32_t job = 0;
    MessageRoutes routes;
  };

  // lfc/exchange.h
  struct Exchange {
    using Bytes = std::vector<std::uint8_t>;
    Bytes own_record;  // empty: it has no part yet
    std::mutex mutex;  // of `jobs`, which any thread changes
    // By job: the parts of each rank, as exchange.cpp stores them.
    std::unordered_map<std::uint32_t, Bytes> jobs;
  };

  // lfc/partitioned.h
  struct PartitionedState : Attached<Partitioned> {
    lfc_part_host host{};
  };

  // lfc/windows.h
  struct Windows : Attached<WindowService> {
    lfc_rma_host host{};
    std::mutex opening;  // several threads may open the windows
  };

  Messages messages;
  Exchange exchange;
  Attached<Collectives>
      collectives;  // lfc/collectives.h; the service is open before it has an engine
  PartitionedState partitioned;
  Windows windows;
  // One thread uses these, but that any may call lfc_channels_stop().
  Attached<lfc::channels::HostChannels> channels;     // lfc/channels.h
  std::optional<lfc::channels::Plan> plan;            // lfc/plan.h
  std::optional<lfc::channels::Recording> recording;  // lfc/recording.h
};

// Hidden, so that an access needs no table of addresses.
[[gnu::visibility("hidden")]] extern Lasting<ProcessState> lasting_process_state;

inline ProcessState& process_state() noexcept { return *lasting_process_state; }

}  // namespace lfc
