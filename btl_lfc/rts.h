/* Announced messages: one that its receiver shall get is announced by ob1 (RGET). Its bytes are pushed behind the
 * RTS (common/services/push), which says so in the registration handle that ob1 sends at its end.
 *
 *   register_mem:    lfc_rts_expect(endpoint, handle);                // ob1 asks for it before it announces
 *   send:            if (lfc_rts_offer(endpoint, descriptor, &pushed)) ...  // false: nothing that is pushed
 *                    ... send the descriptor, with which the handle may go ...
 *                    lfc_push(&pushed);
 *   deregister_mem:  lfc_rts_end(handle);                            // its receiver has the message
 *   get:             remote_handle->pushed, with lfc_adapter_fetch()
 *
 * What is registered and announced by several threads at a time may not be recognised, and is then fetched as ever.
 */
#ifndef LFC_BTL_RTS_H
#define LFC_BTL_RTS_H

#include "btl_lfc.h"

void lfc_rts_expect(struct mca_btl_base_endpoint_t* endpoint,
                    mca_btl_base_registration_handle_t* handle);
bool lfc_rts_offer(struct mca_btl_base_endpoint_t* endpoint, mca_btl_base_descriptor_t* descriptor,
                   mca_btl_base_registration_handle_t* offered);
void lfc_push(const mca_btl_base_registration_handle_t* offered);
void lfc_rts_end(const mca_btl_base_registration_handle_t* handle);

#endif
