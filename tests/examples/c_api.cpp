// Settings for the examples at the top of the headers in common/c_api (scripts/checks/examples): the types of their
// variables. Nothing here is ever run.
#include "c_api/process_state.hpp"
#include "services/partitioned/partitioned.hpp"

namespace lfc {

void process_state_of(const partitioned::Host& callbacks) {
#include "common/c_api/process_state.hpp.example"
}

}  // namespace lfc
