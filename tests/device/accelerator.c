/* An accelerator of Open MPI 5.0 for tests: the memory of its device is a range that the program names, and which the
 * processor may access only inside the functions below. So a component that reads such a buffer by itself crashes.
 *
 *   mpirun --mca mca_base_component_path FOLDER:... device_buffers
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "ompi_version.h"

#include "opal/mca/accelerator/accelerator.h"

/* The device's memory: `device_memory` of the program, of `device_bytes` bytes. */
static char* start(void) {
  char** const memory = dlsym(RTLD_DEFAULT, "device_memory");
  return memory == NULL ? NULL : *memory;
}
static size_t bytes(void) {
  const size_t* const size = dlsym(RTLD_DEFAULT, "device_bytes");
  return size == NULL ? 0 : *size;
}

static int check_address(const void* address, int* device, uint64_t* flags) {
  const char* const first = start();
  *device = MCA_ACCELERATOR_NO_DEVICE_ID;
  *flags = 0;
  return first != NULL && (const char*)address >= first && (const char*)address < first + bytes();
}

static int move(int to_device, int from_device, void* to, const void* from, size_t size,
                opal_accelerator_transfer_type_t type) {
  (void)to_device, (void)from_device, (void)type;
  if (start() != NULL) (void)mprotect(start(), bytes(), PROT_READ | PROT_WRITE);
  memmove(to, from, size);
  if (start() != NULL) (void)mprotect(start(), bytes(), PROT_NONE);
  return OPAL_SUCCESS;
}
static int copy_later(int to_device, int from_device, void* to, const void* from, size_t size,
                      opal_accelerator_stream_t* stream, opal_accelerator_transfer_type_t type) {
  (void)stream;
  return move(to_device, from_device, to, from, size, type);
}

/* Copies are complete at once, so streams and events are empty. */
static int create_stream(int device, opal_accelerator_stream_t** stream) {
  (void)device;
  *stream = OBJ_NEW(opal_accelerator_stream_t);
  return *stream == NULL ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}
static int create_event(int device, opal_accelerator_event_t** event) {
  (void)device;
  *event = OBJ_NEW(opal_accelerator_event_t);
  return *event == NULL ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}
static int record_event(int device, opal_accelerator_event_t* event,
                        opal_accelerator_stream_t* stream) {
  (void)device, (void)event, (void)stream;
  return OPAL_SUCCESS;
}
static int query_event(int device, opal_accelerator_event_t* event) {
  (void)device, (void)event;
  return OPAL_SUCCESS;
}

static int allocate(int device, void** memory, size_t size) {
  (void)device, (void)size;
  *memory = NULL;
  return OPAL_ERR_NOT_SUPPORTED;
}
static int release(int device, void* memory) {
  (void)device, (void)memory;
  return OPAL_SUCCESS;
}
static int range_of(int device, const void* address, void** base, size_t* size) {
  (void)device, (void)address;
  *base = start();
  *size = bytes();
  return OPAL_SUCCESS;
}
static int register_host(int device, void* address, size_t size) {
  (void)device, (void)address, (void)size;
  return OPAL_SUCCESS;
}
static int unregister_host(int device, void* address) {
  (void)device, (void)address;
  return OPAL_SUCCESS;
}
static int get_device(int* device) {
  *device = 0;
  return OPAL_SUCCESS;
}
static int get_attributes(int device, opal_accelerator_pci_attr_t* attributes) {
  (void)device, (void)attributes;
  return OPAL_ERR_NOT_SUPPORTED;
}
static int can_access(int* access, int one, int other) {
  (void)one, (void)other;
  *access = 0;
  return OPAL_SUCCESS;
}
static int get_buffer(int device, const void* address, opal_accelerator_buffer_id_t* buffer) {
  (void)device, (void)address;
  *buffer = 1;
  return OPAL_SUCCESS;
}

static opal_accelerator_base_module_t module = {
    .check_addr = check_address,
    .create_stream = create_stream,
    .create_event = create_event,
    .record_event = record_event,
    .query_event = query_event,
    .mem_copy_async = copy_later,
    .mem_copy = move,
    .mem_move = move,
    .mem_alloc = allocate,
    .mem_release = release,
    .get_address_range = range_of,
    .host_register = register_host,
    .host_unregister = unregister_host,
    .get_device = get_device,
    .get_device_pci_attr = get_attributes,
    .device_can_access_peer = can_access,
    .get_buffer_id = get_buffer,
};

static opal_accelerator_base_module_t* init(void) { return &module; }
static void finalize(opal_accelerator_base_module_t* ended) { (void)ended; }

__attribute__((visibility("default")))
opal_accelerator_base_component_t mca_accelerator_test_component = {
    .base_version = {OPAL_ACCELERATOR_BASE_VERSION_1_0_0, .mca_component_name = "test",
                     LFC_COMPONENT_VERSION},
    .base_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .accelerator_init = init,
    .accelerator_finalize = finalize,
};
