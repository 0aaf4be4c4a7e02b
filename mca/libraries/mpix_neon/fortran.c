/* Fortran bindings: functions that convert handles and take arguments by reference. */
#include <mpix_neon.h>

#pragma GCC visibility push(default)

void lfc_f_neon_attach(const MPI_Fint* win, MPI_Fint* ierror);
void lfc_f_neon_query(const MPI_Fint* win, MPI_Fint* level, MPI_Fint* ierror);
void lfc_f_neon_announce_init(const MPI_Aint* disp, const MPI_Aint* size, const MPI_Fint* nranks,
                              const MPI_Fint* ranks, const MPI_Fint* tag, const MPI_Fint* flags,
                              const MPI_Fint* win, MPI_Fint* ann, MPI_Fint* ierror);
void lfc_f_neon_arrived(const MPI_Fint* ann, MPI_Fint* count, MPI_Fint* ranks, MPI_Fint* ierror);
void lfc_f_neon_put(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                    const MPI_Fint* target, const MPI_Fint* tag, const MPI_Aint* offset,
                    const MPI_Fint* target_count, const MPI_Fint* target_type,
                    const MPI_Fint* flags, const MPI_Fint* win, MPI_Fint* request,
                    MPI_Fint* ierror);
void lfc_f_neon_notify(const MPI_Fint* target, const MPI_Fint* tag, const MPI_Fint* win,
                       MPI_Fint* ierror);
void lfc_f_neon_get(void* origin, const MPI_Fint* count, const MPI_Fint* type,
                    const MPI_Fint* target, const MPI_Fint* tag, const MPI_Aint* offset,
                    const MPI_Fint* target_count, const MPI_Fint* target_type,
                    const MPI_Fint* flags, const MPI_Fint* win, MPI_Fint* request,
                    MPI_Fint* ierror);
void lfc_f_neon_complete(const MPI_Fint* target, const MPI_Fint* win, MPI_Fint* ierror);
void lfc_f_set_num_notify(const MPI_Fint* win, const MPI_Fint* info, const MPI_Fint* count,
                          MPI_Fint* ierror);
void lfc_f_get_num_notify(const MPI_Fint* win, MPI_Fint* count, MPI_Fint* ierror);
void lfc_f_put_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                      const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                      const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                      MPI_Fint* ierror);
void lfc_f_get_notify(void* origin, const MPI_Fint* count, const MPI_Fint* type,
                      const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                      const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                      MPI_Fint* ierror);
void lfc_f_accumulate_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                             const MPI_Fint* target, const MPI_Aint* disp,
                             const MPI_Fint* target_count, const MPI_Fint* target_type,
                             const MPI_Fint* op, const MPI_Fint* idx, const MPI_Fint* win,
                             MPI_Fint* ierror);
void lfc_f_get_accumulate_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                                 void* result, const MPI_Fint* result_count,
                                 const MPI_Fint* result_type, const MPI_Fint* target,
                                 const MPI_Aint* disp, const MPI_Fint* target_count,
                                 const MPI_Fint* target_type, const MPI_Fint* op,
                                 const MPI_Fint* idx, const MPI_Fint* win, MPI_Fint* ierror);
void lfc_f_rput_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                       const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                       const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                       MPI_Fint* request, MPI_Fint* ierror);
void lfc_f_rget_notify(void* origin, const MPI_Fint* count, const MPI_Fint* type,
                       const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                       const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                       MPI_Fint* request, MPI_Fint* ierror);
void lfc_f_get_notify_value(const MPI_Fint* win, const MPI_Fint* idx, int64_t* value,
                            MPI_Fint* ierror);
void lfc_f_reset_notify_value(const MPI_Fint* win, const MPI_Fint* idx, int64_t* value,
                              MPI_Fint* ierror);
void lfc_f_set_notify_value(const MPI_Fint* win, const MPI_Fint* idx, const int64_t* value,
                            MPI_Fint* ierror);
void lfc_f_test_notify(const MPI_Fint* win, const MPI_Fint* idx, const int64_t* expected,
                       MPI_Fint* flag, MPI_Fint* ierror);
void lfc_f_wait_notify(const MPI_Fint* win, const MPI_Fint* idx, const int64_t* expected,
                       MPI_Fint* ierror);
void lfc_f_waitsome_notify(const MPI_Fint* win, const MPI_Fint* first, const MPI_Fint* count,
                           MPI_Fint* idx, MPI_Fint* ierror);

#pragma GCC visibility pop

/* The variable that Fortran programs know as MPI_BOTTOM. Weak: Open MPI may have been built without Fortran. */
extern int mpi_fortran_bottom_ __attribute__((weak, visibility("default")));

/* Returns the buffer as C programs name it. */
static void* buffer_at(const void* address) {
  return address == &mpi_fortran_bottom_ ? MPI_BOTTOM : (void*)(uintptr_t)address;
}

void lfc_f_neon_attach(const MPI_Fint* win, MPI_Fint* ierror) {
  *ierror = MPIX_Neon_attach(MPI_Win_f2c(*win));
}

void lfc_f_neon_query(const MPI_Fint* win, MPI_Fint* level, MPI_Fint* ierror) {
  *ierror = MPIX_Neon_query(MPI_Win_f2c(*win), level);
}

void lfc_f_neon_announce_init(const MPI_Aint* disp, const MPI_Aint* size, const MPI_Fint* nranks,
                              const MPI_Fint* ranks, const MPI_Fint* tag, const MPI_Fint* flags,
                              const MPI_Fint* win, MPI_Fint* ann, MPI_Fint* ierror) {
  MPI_Request request = MPI_REQUEST_NULL;
  *ierror = MPIX_Neon_announce_init(*disp, *size, *nranks, ranks, *tag, *flags, MPI_Win_f2c(*win),
                                    &request);
  *ann = MPI_Request_c2f(request);
}

void lfc_f_neon_arrived(const MPI_Fint* ann, MPI_Fint* count, MPI_Fint* ranks, MPI_Fint* ierror) {
  *ierror = MPIX_Neon_arrived(MPI_Request_f2c(*ann), count, ranks);
}

void lfc_f_neon_put(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                    const MPI_Fint* target, const MPI_Fint* tag, const MPI_Aint* offset,
                    const MPI_Fint* target_count, const MPI_Fint* target_type,
                    const MPI_Fint* flags, const MPI_Fint* win, MPI_Fint* request,
                    MPI_Fint* ierror) {
  MPI_Request made = MPI_REQUEST_NULL;
  *ierror =
      MPIX_Neon_put(buffer_at(origin), *count, MPI_Type_f2c(*type), *target, *tag, *offset,
                    *target_count, MPI_Type_f2c(*target_type), *flags, MPI_Win_f2c(*win), &made);
  *request = MPI_Request_c2f(made);
}

void lfc_f_neon_notify(const MPI_Fint* target, const MPI_Fint* tag, const MPI_Fint* win,
                       MPI_Fint* ierror) {
  *ierror = MPIX_Neon_notify(*target, *tag, MPI_Win_f2c(*win));
}

void lfc_f_neon_get(void* origin, const MPI_Fint* count, const MPI_Fint* type,
                    const MPI_Fint* target, const MPI_Fint* tag, const MPI_Aint* offset,
                    const MPI_Fint* target_count, const MPI_Fint* target_type,
                    const MPI_Fint* flags, const MPI_Fint* win, MPI_Fint* request,
                    MPI_Fint* ierror) {
  MPI_Request made = MPI_REQUEST_NULL;
  *ierror =
      MPIX_Neon_get(buffer_at(origin), *count, MPI_Type_f2c(*type), *target, *tag, *offset,
                    *target_count, MPI_Type_f2c(*target_type), *flags, MPI_Win_f2c(*win), &made);
  *request = MPI_Request_c2f(made);
}

void lfc_f_neon_complete(const MPI_Fint* target, const MPI_Fint* win, MPI_Fint* ierror) {
  *ierror = MPIX_Neon_complete(*target, MPI_Win_f2c(*win));
}

void lfc_f_set_num_notify(const MPI_Fint* win, const MPI_Fint* info, const MPI_Fint* count,
                          MPI_Fint* ierror) {
  *ierror = MPIX_Win_set_num_notify(MPI_Win_f2c(*win), MPI_Info_f2c(*info), *count);
}

void lfc_f_get_num_notify(const MPI_Fint* win, MPI_Fint* count, MPI_Fint* ierror) {
  *ierror = MPIX_Win_get_num_notify(MPI_Win_f2c(*win), count);
}

void lfc_f_put_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                      const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                      const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                      MPI_Fint* ierror) {
  *ierror = MPIX_Put_notify(buffer_at(origin), *count, MPI_Type_f2c(*type), *target, *disp,
                            *target_count, MPI_Type_f2c(*target_type), *idx, MPI_Win_f2c(*win));
}

void lfc_f_get_notify(void* origin, const MPI_Fint* count, const MPI_Fint* type,
                      const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                      const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                      MPI_Fint* ierror) {
  *ierror = MPIX_Get_notify(buffer_at(origin), *count, MPI_Type_f2c(*type), *target, *disp,
                            *target_count, MPI_Type_f2c(*target_type), *idx, MPI_Win_f2c(*win));
}

void lfc_f_accumulate_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                             const MPI_Fint* target, const MPI_Aint* disp,
                             const MPI_Fint* target_count, const MPI_Fint* target_type,
                             const MPI_Fint* op, const MPI_Fint* idx, const MPI_Fint* win,
                             MPI_Fint* ierror) {
  *ierror = MPIX_Accumulate_notify(buffer_at(origin), *count, MPI_Type_f2c(*type), *target, *disp,
                                   *target_count, MPI_Type_f2c(*target_type), MPI_Op_f2c(*op), *idx,
                                   MPI_Win_f2c(*win));
}

void lfc_f_get_accumulate_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                                 void* result, const MPI_Fint* result_count,
                                 const MPI_Fint* result_type, const MPI_Fint* target,
                                 const MPI_Aint* disp, const MPI_Fint* target_count,
                                 const MPI_Fint* target_type, const MPI_Fint* op,
                                 const MPI_Fint* idx, const MPI_Fint* win, MPI_Fint* ierror) {
  *ierror = MPIX_Get_accumulate_notify(buffer_at(origin), *count, MPI_Type_f2c(*type),
                                       buffer_at(result), *result_count, MPI_Type_f2c(*result_type),
                                       *target, *disp, *target_count, MPI_Type_f2c(*target_type),
                                       MPI_Op_f2c(*op), *idx, MPI_Win_f2c(*win));
}

void lfc_f_rput_notify(const void* origin, const MPI_Fint* count, const MPI_Fint* type,
                       const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                       const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                       MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request made = MPI_REQUEST_NULL;
  *ierror =
      MPIX_Rput_notify(buffer_at(origin), *count, MPI_Type_f2c(*type), *target, *disp,
                       *target_count, MPI_Type_f2c(*target_type), *idx, MPI_Win_f2c(*win), &made);
  *request = MPI_Request_c2f(made);
}

void lfc_f_rget_notify(void* origin, const MPI_Fint* count, const MPI_Fint* type,
                       const MPI_Fint* target, const MPI_Aint* disp, const MPI_Fint* target_count,
                       const MPI_Fint* target_type, const MPI_Fint* idx, const MPI_Fint* win,
                       MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request made = MPI_REQUEST_NULL;
  *ierror =
      MPIX_Rget_notify(buffer_at(origin), *count, MPI_Type_f2c(*type), *target, *disp,
                       *target_count, MPI_Type_f2c(*target_type), *idx, MPI_Win_f2c(*win), &made);
  *request = MPI_Request_c2f(made);
}

void lfc_f_get_notify_value(const MPI_Fint* win, const MPI_Fint* idx, int64_t* value,
                            MPI_Fint* ierror) {
  *ierror = MPIX_Win_get_notify_value(MPI_Win_f2c(*win), *idx, (uint64_t*)value);
}

void lfc_f_reset_notify_value(const MPI_Fint* win, const MPI_Fint* idx, int64_t* value,
                              MPI_Fint* ierror) {
  *ierror = MPIX_Win_reset_notify_value(MPI_Win_f2c(*win), *idx, (uint64_t*)value);
}

void lfc_f_set_notify_value(const MPI_Fint* win, const MPI_Fint* idx, const int64_t* value,
                            MPI_Fint* ierror) {
  *ierror = MPIX_Win_set_notify_value(MPI_Win_f2c(*win), *idx, (uint64_t)*value);
}

void lfc_f_test_notify(const MPI_Fint* win, const MPI_Fint* idx, const int64_t* expected,
                       MPI_Fint* flag, MPI_Fint* ierror) {
  int reached = 0;
  *ierror = MPIX_Win_test_notify(MPI_Win_f2c(*win), *idx, (uint64_t)*expected, &reached);
  *flag = reached != 0;  // 1 is .true. for every compiler that tests the lowest bit or all of them
}

void lfc_f_wait_notify(const MPI_Fint* win, const MPI_Fint* idx, const int64_t* expected,
                       MPI_Fint* ierror) {
  *ierror = MPIX_Win_wait_notify(MPI_Win_f2c(*win), *idx, (uint64_t)*expected);
}

void lfc_f_waitsome_notify(const MPI_Fint* win, const MPI_Fint* first, const MPI_Fint* count,
                           MPI_Fint* idx, MPI_Fint* ierror) {
  *ierror = MPIX_Win_waitsome_notify(MPI_Win_f2c(*win), *first, *count, idx);
}
