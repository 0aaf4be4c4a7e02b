# shellcheck shell=bash
# Provides the kernel of scripts/rdma-box: Debian's own, unpacked and not installed, and the few of its modules that the
# guests need. Scripts source it behind common.sh.
# shellcheck disable=SC2154  # its variables

rdma_modules=(virtio_pci 9pnet_virtio 9p overlay virtio_console virtio_net dummy veth sch_netem crc32_generic
  rdma_rxe ib_uverbs rdma_ucm ib_umad)

# Prints the folder of unpacked kernels. Each is a folder with vmlinuz, modules/*.ko and modules/order.
rdma_cache() { printf '%s' "${LFC_RDMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lfc/rdma}"; }

cached_kernel() { # prints the folder of the newest; fails if there is none
  local found
  found=$(find "$(rdma_cache)" -mindepth 2 -maxdepth 2 -path '*/[0-9]*/complete' 2>/dev/null | sort -V | tail -n 1)
  [[ -n $found ]] && dirname "$found"
}

kernel_package() { # prints the newest package of Debian
  apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | sed -n 1p
}

download_kernel() { # download_kernel FOLDER: downloads its package into the folder; prints the version
  local package
  package=$(kernel_package)
  if [[ -z $package ]] || ! (cd "$1" && apt-get download "$package" >"$1/log" 2>&1); then
    # A fresh machine has no lists of packages, an old one has stale ones.
    [[ $EUID != 0 ]] || apt-get update >>"$1/log" 2>&1 || true
    package=$(kernel_package)
    if [[ -z $package ]]; then
      echo "apt knows no package linux-image-amd64 (is this Debian? has apt-get update run?)" >&2
      return 1
    fi
    (cd "$1" && apt-get download "$package" >>"$1/log" 2>&1) || { tail -n 3 "$1/log" >&2; return 1; }
  fi
  printf '%s' "${package#linux-image-}"
}

unpack_kernel() { # unpack_kernel FOLDER VERSION: leaves vmlinuz, modules/*.ko and modules/order in FOLDER
  local folder=$1 version=$2 module file
  dpkg-deb -x "$folder"/linux-image-*.deb "$folder/whole"
  [[ -e $folder/whole/lib ]] || ln -s usr/lib "$folder/whole/lib" # as Debian 13 has it
  depmod -b "$folder/whole" "$version"
  mkdir "$folder/modules"
  for module in "${rdma_modules[@]}"; do
    modprobe -d "$folder/whole" -S "$version" --show-depends "$module"
  done >"$folder/depends"
  sed -n 's/^insmod \([^ ]*\).*/\1/p' "$folder/depends" | awk '!seen[$0]++' >"$folder/list"
  while read -r file; do
    cp "$file" "$folder/modules/"
    [[ $file != *.xz ]] || xz -d "$folder/modules/${file##*/}"
    basename "$file" .xz
  done <"$folder/list" >"$folder/modules/order"
  cp "$folder/whole/boot/vmlinuz-$version" "$folder/vmlinuz"
  rm -rf "$folder"/{whole,list,depends,log} "$folder"/*.deb
}

need_kernel() { # sets `kernel`; if it fails, it has printed the reason
  local folder status=0
  if kernel=$(cached_kernel); then return; fi
  say "fetching and unpacking Debian's kernel, once (70 MB)"
  mkdir -p "$(rdma_cache)"
  folder=$(mktemp -d "$(rdma_cache)/new.XXXXXX")
  # `set -e` has no effect in a function whose status is tested, so these commands run in a shell of their own.
  bash -euo pipefail -c '
    . "$1/scripts/lib/rdma/kernel.sh"
    version=$(download_kernel "$2")
    unpack_kernel "$2" "$version"
    echo "$version" >"$2/complete"' kernel "$lfc_tree" "$folder" >&2 || status=$?
  if ((status)); then
    rm -rf "$folder"
    warn "no kernel for the guests: Debian's could not be downloaded or unpacked"
    return 1
  fi
  kernel=$(rdma_cache)/$(<"$folder/complete")
  mv -T "$folder" "$kernel" 2>/dev/null || rm -rf "$folder" # another run was faster
}

make_initramfs() { # make_initramfs KERNEL OUTPUT: makes some 15 MB in a tenth of a second, so it is not kept
  local folder
  folder=$(mktemp -d)
  mkdir "$folder"/{bin,dev,proc,sys,host,memory,root}
  cp /bin/busybox "$folder/bin/"
  cp -r "$1/modules" "$folder/"
  install -m 755 "$lfc_tree/scripts/lib/rdma/initramfs-init" "$folder/init"
  (cd "$folder" && find . | /bin/busybox cpio -o -H newc >"$2" 2>/dev/null)
  rm -rf "$folder"
}
