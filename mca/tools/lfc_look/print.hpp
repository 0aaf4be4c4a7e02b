// Print: a snapshot in lines for people.
#pragma once

#include "snapshot.hpp"

namespace look {

void print(const Rank& rank);

}  // namespace look
