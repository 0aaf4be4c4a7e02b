// Read by the leak sanitizer. Several providers of libfabric keep or leak memory of their own. Leaks of this project
// have no such provider on their stacks.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions() { return "leak:libfabric.so\n"; }
