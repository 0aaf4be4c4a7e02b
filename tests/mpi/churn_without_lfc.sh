#!/usr/bin/env bash
# churn_without_lfc.sh: the control of the churn rows over ofi. Without LFC the same program grows over the same provider,
# unless its ring of completions is short (common/link/ofi/README.md).
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place lab
for peers in 256 4; do
  echo "FI_UNIVERSE_SIZE=$peers:"
  "${launcher[@]}" -n 4 --mca mca_base_env_list FI_UNIVERSE_SIZE=$peers --mca pml cm --mca mtl ofi \
    --mca mtl_ofi_provider_include 'tcp;ofi_rxm' --mca btl ^lfc --mca coll ^lfc \
    "$(executable mpi coll_churn)" --rounds 3000 2>&1 | tee "$output.$peers" || true
done
grep -q 'KiB became' "$output.256" || { echo "the provider does not grow any more: drop FI_UNIVERSE_SIZE"; exit 1; }
[[ $(tail -n 1 "$output.4") == ok ]] || { echo "it also grows with a short ring"; exit 1; }
