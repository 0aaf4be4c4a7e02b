#!/usr/bin/env bash
# lfc-info prints what a job would do: each kind of link with its reason, the interfaces, and the policy, by the
# parameters of the environment and of files. It refuses an unknown word.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
info=$LFC_BUILD/default/bin/lfc-info
unset OMPI_MCA_btl_lfc_interfaces OMPI_MCA_btl_lfc_provider
job=(mpirun --map-by slot:OVERSUBSCRIBE --mca pml ob1 --mca btl_lfc_verbose 1)
ring=$LFC_BUILD/default/tests/mpi/mpi_ring

expect 0 '^LFC [0-9.]+, built for Open MPI [45]\.[01], build [0-9a-f]{16}, layout [0-9a-f]{8}$' "$info"
for link in loop shm; do
  grep -qE "^  $link +works \(by default\): " <<<"$output" || fail "$link is not reported: $output"
done
grep -qE '^  tcp +(works|not here) \(by default\): ' <<<"$output" || fail "tcp is not reported: $output"
grep -qE '^  single copy +(permitted|not permitted: )' <<<"$output" || fail "the kernel's permission is not reported: $output"
grep -qE '^  shm +up to 48 KiB: at once, .* 2 copies' <<<"$output" || fail "the path of a message is not reported: $output"
if grep -q '^  tcp  *works' <<<"$output"; then
  grep -qE '^ +from there to 256 KiB: pushed: ' <<<"$output" || fail "a push is not reported: $output"
  expect 0 '^ +above: fetched by the receiver' env OMPI_MCA_btl_lfc_push_limit=0 OMPI_MCA_btl_lfc_links=loop,tcp "$info"
  ! grep -q pushed <<<"$output" || fail "a push that is switched off is reported: $output"
fi

# The row of policy `auto` agrees with a job of so many ranks.
for ranks in 1 4; do
  expect 0 "^  $ranks ranks? +policy (single|floating) \(auto: " "$info" --ranks $ranks
  policy=$(sed -n "s/^  $ranks ranks* *\(policy [a-z]*\) (auto: .*/\1/p" <<<"$output")
  expect 0 "$policy \(auto: " "${job[@]}" -n $ranks --mca btl lfc "$ring"
done

# Parameter files count as in a job, after the environment, the user's before the system's; and each is named.
mkdir -p "$scratch/home/.openmpi" "$scratch/etc"
own=$scratch/home/.openmpi/mca-params.conf system=$scratch/etc/openmpi-mca-params.conf
printf '%s\n' '# LFC for everybody' 'btl = lfc' ' btl_lfc_links=shm,loop ' 'btl_lfc_initial_window = 3' 'btl_lfc_initial_window = 0x4' >"$own"
printf '%s\n' 'btl_lfc_policy = floating' 'btl_lfc_links = loop,tcp' 'btl_lfc_max_window = 1k' 'coll_lfc_fan = 17' >"$system"
printf '%s\n' 'btl_lfc_max_window = 32' >"$scratch/etc/openmpi-mca-params-override.conf"
files=(env HOME="$scratch/home" OPAL_SYSCONFDIR="$scratch/etc" OMPI_MCA_btl_lfc_policy=single)
expect 0 "^  btl_lfc_links +shm,loop \($own:3\)$" "${files[@]}" "$info" --ranks 1
for row in "btl +lfc \($own:2\)" "btl_lfc_initial_window 0x4 \($own:5\)" 'btl_lfc_policy +single \(environment\)' \
  "btl_lfc_max_window +32 \($scratch/etc/openmpi-mca-params-override.conf:1\)" "file +$own" "file +$system" \
  'coll_lfc +declines: coll_lfc_fan: 17 .*' '1 rank +policy single' 'shm +works \(named\): .*' 'tcp +.*\(not named\): .*' \
  'no rails +btl_lfc_links does not name tcp'; do
  grep -qE "^  $row$" <<<"$output" || fail "no row '$row': $output"
done
told=$(sed -n 's/^  btl_lfc  *\(links .*\)/\1/p' <<<"$output")
expect 0 '^ok$' "${files[@]}" "${job[@]}" -n 1 "$ring"
grep -qF "btl lfc: policy single; $told; frames" <<<"$output" || fail "a job does not open the transports that lfc-info prints ($told): $output"
grep -qF 'windows 4..32;' <<<"$output" || fail "a job has other windows: $output"
grep -q 'coll_lfc_fan: 17 (accepted' <<<"$output" || fail "a job does not decline: $output"

# Where a job finds the plugin: in the first readable folder that has it. Behind one that cannot be opened Open MPI does
# not look.
mkdir -p "$scratch/home/.openmpi/components" "$scratch/system"
touch "$scratch/home/.openmpi/components/mca_btl_lfc.so"
default=(env -u OMPI_MCA_mca_base_component_path HOME="$scratch/home" OPAL_PKGLIBDIR="$scratch/system")
own=$(realpath "$LFC_BUILD/default/components")
found() { # found FOLDER CMD...: and lfc-info warns unless it is that of its own build
  expect 0 "^  mca_btl_lfc.so +$1\$" "${@:2}" "$info"
  [[ $1 == "$own" ]] || grep -qE "^  WARNING +a job .*, but this lfc-info belongs to $own\$" <<<"$output" || fail "no warning: $output"
}
found "$scratch/home/.openmpi/components" "${default[@]}"
echo "mca_base_component_path = SYS_DEFAULT:$own" >>"$scratch/home/.openmpi/mca-params.conf"
if [[ ! $(mpirun --version) =~ 5\. ]]; then # mpirun of 5.0 may take the list of a parameter file of PMIx
  found "$own" "${default[@]}"
  grep -qE "^  component path +SYS_DEFAULT:$own \($scratch/home/.openmpi/mca-params.conf:" <<<"$output" || fail "no source: $output"
fi
touch "$scratch/system/mca_btl_lfc.so"
found "$scratch/system" "${default[@]}" OMPI_MCA_mca_base_component_path="SYS_DEFAULT:$own"
found "$own" "${default[@]}" OMPI_MCA_mca_base_component_path="$own:SYS_DEFAULT"
found 'in none of these folders' "${default[@]}" OMPI_MCA_mca_base_component_path="$scratch/removed:SYS_DEFAULT"
grep -qE "^  unreadable +$scratch/removed: " <<<"$output" || fail "the missing folder is not reported: $output"
# A job prints which library it has loaded.
expect 0 "btl lfc: build [0-9a-f]{16}, $own/liblfc\.so" "${job[@]}" -n 1 --mca btl lfc "$ring"

# Parameters that a job declines.
expect 0 '^  btl_lfc +declines: btl_lfc_ports: ' env OMPI_MCA_btl_lfc_ports=abc "$info"
expect 0 "^  btl_lfc +declines: btl_lfc_links: there is no link 'nosuch'" env OMPI_MCA_btl_lfc_links=loop,nosuch "$info"

# Ten interfaces: a job uses eight.
if [[ $EUID == 0 ]] && unshare --net true 2>/dev/null; then
  # shellcheck disable=SC2016  # for the shell there
  expect 0 '^  nic0 +10\.9\.0\.1/24, .*: rail 1$' unshare --net bash -c 'for i in {0..9}; do
    ip link add "nic$i" type veth peer name "end$i" && ip link set "end$i" up && ip link set "nic$i" up &&
      ip addr add "10.9.$i.1/24" dev "nic$i" || exit 1; done; "$@"' bash env OMPI_MCA_btl_lfc_connections=2 "$info"
  [[ $(grep -cE '^  nic.*: rail [1-8]$' <<<"$output") == 8 ]] || fail "not eight rails: $output"
  [[ $(grep -cE '^  nic.*: no rail: a job uses 8 interfaces at most' <<<"$output") == 2 ]] || fail "not two more: $output"
fi

# Parameters of the environment count, and lfc-info reports errors in them in a job's words.
expect 0 "^  tcp +not here \(by default\): btl_lfc_interfaces: .*nonsense" env OMPI_MCA_btl_lfc_interfaces=nonsense "$info"
expect 2 "lfc-info: '--nonsense'" "$info" --nonsense
expect 2 "lfc-info: '0'" "$info" --ranks 0
expect 2 "lfc-info: '--ranks'" "$info" --ranks
expect 0 '^lfc-info [0-9.]+, build [0-9a-f]{16}, layout [0-9a-f]{8}$' "$info" --version
echo ok
