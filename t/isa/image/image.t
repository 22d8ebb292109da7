#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests isa/'s view of images: symbols against readelf, function ranges against readelf's frames,
# names against c++filt; stripped images, .gnu_debugdata, debug files, PIE and others, static PIE,
# damaged files.
. "$(dirname "$0")/../../lib.sh"
LOOK=$REGTRACE_BUILD/t/isa/image/look
[ -x "$LOOK" ] || skip_all "this build has no isa/ (configure says why)"
for tool in g++ gcc readelf objcopy strip c++filt; do
    command -v $tool >/dev/null || skip_all "no $tool"
done
libc=$(ldd "$LOOK" | awk '/libc\.so/ { print $3 }')
libstdcxx=$(ldd "$LOOK" | awk '/libstdc/ { print $3 }')

# exported FILE: prints address, size and name of each defined dynamic symbol, as readelf has them.
exported() {
    readelf -W --dyn-syms "$1" | awk '$1 ~ /^[0-9]+:$/ && $7 != "UND" && $7 != "ABS" && $4 != "TLS" && $8 != "" {
        print $2, ($3 ~ /^0x/ ? "big" : $3), $8 }' | sort
}
# A symbol that is in both tables appears once, with its version.
ours_exported() { "$LOOK" symbols "$1" | awk '$4 == "dynsym" { print $1, ($2 > 99999 ? "big" : $2), $5 }' | sort; }
for f in "$libc" "$libstdcxx"; do
    isnt "$(exported "$f" | wc -l)" 0 "readelf sees symbols in $(basename "$f")"
    is "$(diff <(exported "$f") <(ours_exported "$f") | head -5)" "" "exported symbols with versions of $(basename "$f")"
    is "$(diff <(readelf -W --debug-dump=frames "$f" 2>/dev/null | sed -n 's/.* FDE .*pc=\(.*\)/\1/p' | sort) \
        <("$LOOK" ranges "$f" | sort) | head -5)" "" "ranges of functions in $(basename "$f")"
    is "$("$LOOK" build-id "$f")" "$(readelf -n "$f" | sed -n 's/.*Build ID: //p')" "build id of $(basename "$f")"
done
like "$("$LOOK" find "$libc" memcpy@GLIBC_2.2.5)" '^[0-9a-f]+ dynsym memcpy$' "a version chooses"
isnt "$("$LOOK" find "$libc" memcpy@GLIBC_2.2.5)" "$("$LOOK" find "$libc" memcpy@@GLIBC_2.14)" "and another chooses another"
like "$("$LOOK" find "$libc" memcpy@@GLIBC_2.2.5)" '^none' "what is not the default is not found as the default"
like "$("$LOOK" find "$libc" qsrot)" '^none; nearest are .*qsort' "a name that matches nothing gets the nearest"
like "$("$LOOK" symbols "$libc")" ' 10 dynsym memcpy@@' "an indirect function is noted as one"

# --- Names of C++, in programs of all kinds ---
cd "$T" || exit 1
src=$REGTRACE_SOURCE/t/isa/image/names.cc
ok_run "compiles a PIE" g++ -O1 -o pie "$src"
ok_run "compiles a program at a fixed address" g++ -O1 -no-pie -o fixed "$src"
ok_run "compiles a static PIE" g++ -O1 -static-pie -o static-pie "$src"
# expected PROGRAM REGEX: prints addresses of functions whose demangled name matches, by nm and
# c++filt.
expected() { nm "$1" | awk '$2 ~ /[tTwWiI]/' | c++filt | grep -E -- "$2" | cut -d' ' -f1 | sort -u; }
found() { "$LOOK" find "$1" "$2" | awk '/^[0-9a-f]+ / && $2 != "plt" { print $1 }' | sort -u; }
# finds NAME REGEX: in each program NAME finds the same functions as c++filt.
finds() {
    local p
    for p in pie fixed; do
        isnt "$(expected $p "$2")" "" "$p has functions like /$2/"
        is "$(found $p "$1")" "$(expected $p "$2")" "$p: $1 is found"
    done
}
finds solve ' (outer::)?(Thing::)?solve(\(.*)?$'
finds outer::solve ' outer::solve\('
finds outer::Thing::solve ' outer::Thing::solve\('
finds 'outer::solve(int)' ' outer::solve\(int\)$'
finds solve_all ' outer::solve_all<'
finds 'outer::solve_all<int>' ' outer::solve_all<int>\('
finds 'int outer::solve_all<int>(std::vector<int, std::allocator<int> >)' ' outer::solve_all<int>\('
finds 'outer::solve_all<double>(std::vector<double,std::allocator<double>>)' ' outer::solve_all<double>\('
finds 'outer::Thing::operator()(int) const' ' outer::Thing::operator\(\)\(int\) const'
finds 'outer::Box<int>::deeper<long>' ' outer::Box<int>::deeper<long>\('
finds 'outer::Box<int>::deeper' ' outer::Box<int>::deeper<'
finds 'outer::Box::deeper<long>' ' outer::Box<(int|char)>::deeper<long>'
finds 'outer::Box::deeper' ' outer::Box<'
finds added 'outer::added<'
finds outer::added 'outer::added<'
finds 'outer::added<long>' 'outer::added<'
finds chosen 'outer::chosen<'
finds 'outer::chosen<int>' 'outer::chosen<'
finds 'operator<<' 'outer::operator<< '
finds 'outer::operator<< <int>' 'outer::operator<< '
finds hidden ' outer::\(anonymous namespace\)::hidden\('
finds 'operator()' 'operator\(\)\('
finds 'operator<' ' outer::Thing::operator<\('
finds 'operator long' ' outer::Thing::operator long\('
finds Thing ' outer::Thing::Thing\('
finds '~Thing' ' outer::Thing::~Thing\('
finds _ZN5outer5solveEi ' outer::solve\(int\)$'
is "$(found static-pie hidden)" "$(expected static-pie ' outer::\(anonymous namespace\)::hidden\(')" "static-pie: hidden is found"
unlike "$("$LOOK" find pie main)" 'cold' "a part of a function has not its name"
like "$("$LOOK" find pie outer::solv)" '^none; nearest are outer::solve' "the nearest qualified name"

# --- Fortran modules, as gfortran, flang and ifx name their procedures ---
printf 'int %s(void) { return 1; }\n' __solver_MOD_advance _QMflowPadvance mesh_mp_advance_ >modules.c
echo 'int main(void) { return 0; }' >>modules.c
gcc -o modules modules.c || exit 1
is "$("$LOOK" find modules advance | awk '{ print $3 }' | LC_ALL=C sort | xargs)" "_QMflowPadvance __solver_MOD_advance mesh_mp_advance_" "procedures of modules by their bare name"
for name in solver::advance:__solver_MOD_advance flow::advance:_QMflowPadvance mesh::Advance:mesh_mp_advance_; do
    is "$("$LOOK" find modules "${name%:*}" | awk '{ print $3 }')" "${name##*:}" "${name%:*} is the module's"
done
like "$("$LOOK" find modules solver::advanc)" '^none; nearest are solver::advance' "and the nearest one is named so"

# --- Stripped images ---
symbols() { "$LOOK" symbols "$1" | awk '$3 == 2 && $4 != "plt" { print $1, $5 }' | sort; }
cp pie stripped && strip stripped
is "$(found stripped hidden)" "" "stripped of its symbols it has none"
is "$("$LOOK" ranges stripped)" "$("$LOOK" ranges pie)" "but its ranges of functions are as they were"
isnt "$("$LOOK" pads stripped)" "" "and so are landing pads"
if command -v xz >/dev/null; then
    objcopy --only-keep-debug pie pie.debug
    nm pie | awk '$2 ~ /[tT]/ { print $3 }' >keep
    objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep pie.debug mini && xz -k mini
    objcopy --add-section .gnu_debugdata=mini.xz stripped minidebug
    is "$(found minidebug hidden)" "$(found pie hidden)" ".gnu_debugdata has them"
else
    skip ".gnu_debugdata" "no xz"
fi
objcopy --only-keep-debug pie pie.debug
objcopy --add-gnu-debuglink=pie.debug stripped linked
is "$(symbols linked)" "$(symbols pie)" "a debug file has them all"
python3 - pie headless <<'P'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
b[40:48] = struct.pack("<Q", 0)   # e_shoff
b[58:64] = struct.pack("<HHH", 64, 0, 0)
open(sys.argv[2], "wb").write(b)
P
is "$("$LOOK" ranges headless)" "$("$LOOK" ranges pie)" "without headers of sections: the same ranges"
isnt "$("$LOOK" symbols headless | grep -c ' plt ')" 0 "and stubs"
is "$("$LOOK" symbols headless | awk '{ print $1, $5 }' | sort)" "$("$LOOK" symbols stripped | awk '{ print $1, $5 }' | sort)" \
    "as many as with headers"
is "$("$LOOK" symbols pie | awk '$4 == "plt" { print $1 }' | sort)" \
    "$(objdump -d pie | sed -n 's/^\([0-9a-f]*\) <.*@plt>:/\1/p' | sort)" "stubs of the PLT are those of objdump"
# Landing pads of exceptions, from which a call of __cxa_begin_catch or _Unwind_Resume is reached:
# objdump must have an instruction at each.
is "$("$LOOK" pads pie | sort -u | while read -r p; do
    objdump -d pie | grep -qE "^ *$p:" || echo "$p"
done)" "" "landing pads are instructions"

# --- Files that are no images ---
refuses() {
    run 20 "$LOOK" symbols "$2"
    is "$status" 1 "$1 is refused"
    like "$err" "$3" "$1: with the reason"
}
printf 'hello, this is a text and no program at all, though it is longer than the header of one\n' >text
refuses "a text" text 'no program or library for x86-64|no ELF'
refuses "a folder" . 'no ELF file|Is a directory'
refuses "nothing" nowhere 'No such file'
head -c 3000 pie >short
refuses "a file cut short" short 'damaged'
# Damage anywhere must give an answer or a reason, never a crash.
python3 - pie "$LOOK" <<'P' >damage
import random, subprocess, sys
whole, look = open(sys.argv[1], "rb").read(), sys.argv[2]
random.seed(7)
bad = []
for trial in range(150):
    b = bytearray(whole)
    for _ in range(random.choice((1, 5, 40))):
        at = random.randrange(len(b) if trial % 2 else 0x1000)
        b[at] = random.choice((0, 0xff, random.randrange(256)))
    open("damaged", "wb").write(b)
    # A timeout ends this program and so the test.
    rc = subprocess.run([look, ("symbols", "counts")[trial % 2], "damaged"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60).returncode
    if rc not in (0, 1):
        bad.append((trial, rc))
print(bad)
P
is "$(cat damage)" "[]" "150 damaged files: no crash"
done_testing
