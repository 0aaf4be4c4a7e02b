#include "c_api/process_state.hpp"

namespace lfc {

Lasting<ProcessState> lasting_process_state;

}  // namespace lfc
