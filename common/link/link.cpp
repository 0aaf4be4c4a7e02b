#include "link/link.hpp"

namespace lfc {

const char* to_string(Result result) noexcept {
  switch (result) {
    case Result::ok: return "ok";
    case Result::unreachable: return "peer unreachable";
    case Result::bad_address: return "address outside the registered region";
    case Result::not_supported: return "not supported";
  }
  return "unknown";
}

}  // namespace lfc
