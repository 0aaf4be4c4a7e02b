// Setting for the example in common/look/fields.hpp (scripts/checks/examples), which stands in namespace lfc.
// Nothing here is ever run.
#include <cstddef>

#include "look/fields.hpp"
#include "look/records.hpp"

namespace lfc {
#include "common/look/fields.hpp.example"
}  // namespace lfc
