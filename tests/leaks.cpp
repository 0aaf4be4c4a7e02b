// Read by the leak sanitizer. libfabric keeps or forgets memory of its own in several providers;
// what this project itself loses is not on their stacks.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions() { return "leak:libfabric.so\n"; }
