// Settings for the examples at the top of the headers in common/c_api (scripts/checks/examples): the types of their
// variables. Nothing here is ever run.
#include "c_api/message_routes.hpp"
#include "c_api/process_state.hpp"
#include "services/partitioned/partitioned.hpp"

namespace lfc {

void message_routes(const lfc_host& host, std::uint8_t tag,
                    MessageRoutes::Receive receive_on_channels, void* endpoint, std::uint32_t peer,
                    const void* data, std::size_t size) {
#include "common/c_api/message_routes.hpp.example"
}

void process_state_of(const partitioned::Host& callbacks) {
#include "common/c_api/process_state.hpp.example"
}

}  // namespace lfc
