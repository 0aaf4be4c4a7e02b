#include "lfc/notices.h"

#include "machine/first_of_node.hpp"

bool lfc_first_of_node(uint32_t job, const char* what) { return lfc::first_of_node(job, what); }
