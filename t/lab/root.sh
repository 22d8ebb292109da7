#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the root that the PMU lab boots and cross-compiles against: an arm64 Debian of the suites
# that this machine's apt knows.
#
# usage: root.sh FOLDER
#
# FOLDER/sysroot is the root file system and the cross compiler's sysroot, FOLDER/vmlinuz its
# kernel, and FOLDER/base.cpio the part of the root that the machine gets. The script emulates and
# configures nothing, leaves the machine's own packages and apt unchanged, and needs no root: apt
# resolves and downloads with separate lists, and archives are only unpacked. Exits with 77 if the
# packages cannot be had here; the last line of output says why.
set -u -o pipefail
export LC_ALL=C

# The -dev packages depend on the libraries, so that no version of a library is named here.
wanted='linux-image-arm64 libc6-dev libpapi-dev libpfm4-dev libopenmpi-dev openmpi-bin libhdf5-dev hdf5-tools zlib1g-dev
libaec-dev busybox-static bash coreutils sed grep gawk findutils diffutils hostname procps tar'
# apt gets these as already installed: dependencies that nothing in the lab calls, two thirds of the
# whole.
assumed='adduser autoconf automake automake-1.16 autotools-dev base-files binutils cpp debconf debianutils dpkg gcc gcc-12 gcc-14
gfortran gfortran-12 gfortran-14 init-system-helpers initramfs-tools kmod libcurl4-openssl-dev libhwloc-plugins libjpeg-dev
libjs-jquery libjs-jquery-ui libnl-3-dev libnl-route-3-dev libnsl-dev libpam-modules libpam-runtime libpam0g libssl-dev
libtirpc-dev libtool libx11-6 libxext6 libxml2 libxnvctrl0 linux-base m4 media-types ocl-icd-libopencl1 openssh-client passwd
perl perl-base python3 rpcsvc-proto ssh-client udev usrmerge'
# Files of the root that only the compiler needs, or no program at all, stay out of the machine's
# memory.
left_out='^(boot|lib/modules|usr/lib/modules|usr/include|usr/src|usr/share/(doc|man|info|locale|perl5|lintian|bug|i18n)|etc/apt)(/|$)
\.(a|la|mod|h)$
^usr/lib/aarch64-linux-gnu/(gconv|fortran|perl|perl-base)(/|$)
/(lib(asan|tsan|lsan|ubsan|hwasan)\.so.*)$
/openmpi/include(/|$)'

give_up() {
    echo "$*"
    exit 77
}

# The private apt: it writes everything below $1, and does not run hooks of the machine's own apt.
apt_settings() {
    local package
    mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial"
    for package in $assumed; do
        printf 'Package: %s\nStatus: install ok installed\nArchitecture: arm64\nMulti-Arch: allowed\nVersion: 99:99\n' "$package"
        printf 'Maintainer: nobody\nDescription: assumed\n\n'
    done >"$1/status"
    cat >"$1/apt.conf" <<CONF
Dir::State "$1/state";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "$1";
APT::Architecture "arm64";
#clear APT::Architectures;
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Debug::NoLocking "true";
CONF
}

# unpack FOLDER ROOT: unpacks every archive of the folder, several at a time. Links of the merged
# /usr stay links.
unpack() {
    # shellcheck disable=SC2016  # the inner shell's
    find "$1" -name '*.deb' -print0 | xargs -0 -n 1 -P "$(nproc)" bash -c 'set -o pipefail
        dpkg-deb --fsys-tarfile "$1" | tar -x -C "$0" --keep-directory-symlink --no-same-owner \
            --exclude="./lib/modules/*" --exclude="./usr/lib/modules/*" --exclude="./usr/share/doc/*" --exclude="./usr/share/man/*" \
            --exclude="./usr/share/locale/*"' "$2"
}

make_links() {
    local d
    mkdir -p "$1"/usr/{bin,lib,sbin} "$1"/{dev,etc,proc,sys,tmp,run,root,var/tmp}
    for d in bin lib sbin; do ln -sfn "usr/$d" "$1/$d"; done
}

# No maintainer scripts run, so the links of update-alternatives are missing.
make_alternatives() {
    local name program
    for name in mpirun mpiexec orterun; do
        program=$1/usr/bin/$name.openmpi
        [ ! -e "$program" ] || [ -e "$1/usr/bin/$name" ] || ln -s "$name.openmpi" "$1/usr/bin/$name"
    done
    [ -e "$1/usr/bin/awk" ] || ln -s gawk "$1/usr/bin/awk"
    [ -e "$1/bin/sh" ] || ln -s bash "$1/bin/sh"
    printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/tmp:/bin/bash\n' >"$1/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
    printf 'passwd: files\ngroup: files\nhosts: files\n' >"$1/etc/nsswitch.conf"
    printf '127.0.0.1 localhost lab\n' >"$1/etc/hosts"
    printf 'lab\n' >"$1/etc/hostname"
    # Absolute links (of -dev packages) would lead a cross compiler to this machine's own files.
    find "$1/usr/lib" -type l -lname '/*' | while read -r name; do
        ln -sfn "$(realpath -sm --relative-to="$(dirname "$name")" "$1$(readlink "$name")")" "$name"
    done
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || give_up "no apt and dpkg here to fetch arm64 packages with"
[ $# = 1 ] || { sed -n 's/^# usage: //p' "$0"; exit 2; }
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 1
rm -rf "$folder/apt" "$folder/sysroot" "$folder/base.cpio" "$folder/vmlinuz"
apt_settings "$folder/apt"
apt=(apt-get -c "$folder/apt/apt.conf" -q)
"${apt[@]}" update >"$folder/apt.log" 2>&1 || { cat "$folder/apt.log"; give_up "apt cannot read its mirror's lists for arm64"; }
# shellcheck disable=SC2086  # packages are separate words
"${apt[@]}" install -y --download-only $wanted >>"$folder/apt.log" 2>&1 || {
    tail -n 20 "$folder/apt.log"
    give_up "apt's mirror has not all packages of the lab for arm64: $(grep -m 1 '^E: ' "$folder/apt.log")"
}
make_links "$folder/sysroot" && unpack "$folder/apt/cache/archives" "$folder/sysroot" || exit 1
make_alternatives "$folder/sysroot"
kernel=$(find "$folder/sysroot/boot" -name 'vmlinuz-*' | sort -V | tail -n 1)
[ -n "$kernel" ] && cp "$kernel" "$folder/vmlinuz.new" || { echo "no kernel in the packages"; exit 1; }
rm -rf "$folder/apt"
(cd "$folder/sysroot" && find . -mindepth 1 | sed 's|^\./||' | grep -vE "$(tr '\n' '|' <<<"$left_out" | sed 's/|$//')" |
    LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$folder/base.cpio" || exit 1
# Rename the kernel last: if it exists, the rest is complete.
mv "$folder/vmlinuz.new" "$folder/vmlinuz"
echo "made $(du -sh "$folder/sysroot" | cut -f 1) in $folder/sysroot; $(du -h "$folder/base.cpio" | cut -f 1) of it go into the machine"
