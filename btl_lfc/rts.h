/* RTS: rendezvous requests of ob1 whose message is pushed behind them.
 *
 * ob1 sends an RTS for a message that its receiver shall get (RGET), with the registration handle at its end. LFC
 * pushes the bytes behind it (common/services/push), and notes the number of the push in that handle.
 *
 *   register_mem:    lfc_rts_expect(endpoint, handle);                // before ob1 sends the RTS
 *   send:            if (lfc_rts_offer(endpoint, descriptor, &pushed)) ...  // false: not pushed
 *                    ... send the descriptor, with which the handle may go ...
 *                    lfc_push(&pushed);
 *   deregister_mem:  lfc_rts_end(handle);                            // its receiver has the message
 *   get:             remote_handle->pushed, with lfc_adapter_fetch()
 *
 * Where several threads register and send at a time, a message may not be recognised. Its receiver then fetches it.
 */
#ifndef LFC_BTL_RTS_H
#define LFC_BTL_RTS_H

#include "btl_lfc.h"

/* Notes the memory as that of the next RTS to the peer. */
void lfc_rts_expect(struct mca_btl_base_endpoint_t* endpoint,
                    mca_btl_base_registration_handle_t* handle);
/* Offers the message of this RTS for a push, and writes the push's number into the descriptor. False: it is no such
 * RTS, or its message is not pushed. */
bool lfc_rts_offer(struct mca_btl_base_endpoint_t* endpoint, mca_btl_base_descriptor_t* descriptor,
                   mca_btl_base_registration_handle_t* offered);
/* Begins the push. The RTS has been sent before. */
void lfc_push(const mca_btl_base_registration_handle_t* offered);
/* Ends the push: the receiver has the message. */
void lfc_rts_end(const mca_btl_base_registration_handle_t* handle);

#endif
