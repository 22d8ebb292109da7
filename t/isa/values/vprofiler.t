#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests regtrace-vprofiler and the library for plug-ins of value profiling: all calls of the
# interface; each entry of the table missing; plug-ins that crash, hang, exit and return nonsense in
# each call; names; the installed plug-ins; the example of DCPI's manual.
. "$(dirname "$0")/../../lib.sh"
VP=$REGTRACE_BUILD/isa/regtrace-vprofiler
ASKING=$REGTRACE_BUILD/t/isa/values/asking
[ -x "$VP" ] || skip_all "this build has no isa/ (configure says why)"
for tool in gcc as objdump; do
    command -v $tool >/dev/null || skip_all "no $tool"
done
grep -q '^S\["SANITIZE"\]="..*"' "$REGTRACE_BUILD/config.status" && skip_all "plug-ins are not built with sanitizers"
cd "$T" || exit 1

# Use only the headers and the archive, as they are installed: nothing else of the tree is found.
mkdir -p include lib
cp -r "$REGTRACE_SOURCE/share/include/regtrace" include/
cp "$REGTRACE_BUILD/libregtrace-trace.a" lib/
build() { gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -shared -fPIC -o "$1" "$2" -Llib -lregtrace-trace; }
ok_run "a plug-in is built with what is installed" build ./test.so "$REGTRACE_SOURCE/t/isa/values/plugin.c"
ok_run "the manual's example too" build ./vp-ldq-addr.so "$REGTRACE_SOURCE/share/examples/vp-ldq-addr.c"
printf '#include <regtrace/vprofiler.h>\nint x = op_add;\n' >header.cc
if command -v g++ >/dev/null; then
    ok_run "C++ reads the headers" g++ -Wall -Wextra -Werror -Iinclude -c -o header.o header.cc
else
    skip "C++ reads the headers" "no g++"
fi

# code ASSEMBLER...: prints the bytes of instructions, one a line.
code() {
    printf '%s\n' "$@" | as -o code.o - && objdump -d -w code.o | awk -F'\t' 'NF > 2 { gsub(" ", "", $2); print $2 }'
}
# items PLUG-IN CODE: prints what is captured for the instruction. "-": no record.
items() {
    echo "1000 $2" | "$ASKING" answer "$VP" "$1" 2>"$T/asking.err" | awk 'NR == 1 {
        at = 0; for (i = 1; i <= NF; i++) if ($i == "selected") at = i
        if (!at) { print "-"; exit }
        for (i = at + 1; i <= NF; i++) printf "%s%s", $i, i < NF ? " " : ""
        print "" }'
}
# timeout prints a warning if the user's queue of signals is full.
vp() { run 60 "$VP" "$@"; err=$(grep -v '^timeout: warning' <<<"$err"); }

# --- Names ---
for name in vp-addr addr vp-classic classic vp-args args; do
    vp --name $name
    is "$status $out" "0 vp-${name#vp-}" "$name is found"
    vp --check $name
    is "$status $out" "0 vp-${name#vp-}" "and its specification is right"
done
cp "$REGTRACE_BUILD/isa/.libs/vp-addr.so" here.so
for name in nosuch here here.so '' ../isa; do
    vp --name "$name"
    is "$status $out" "1 " "'$name' is not found"
done
vp --name nosuch
like "$err" "there is no plug-in of the name nosuch in /.*; a path to a file has a slash" "which says where it was looked for"
vp --name vp-adr
like "$err" "there is no plug-in of the name vp-adr in /.*; nearest are vp-addr, vp-args, vp-classic; " "a misspelt name: the nearest are named"
echo text >text.so
vp --check ./text.so
like "$status $err" "^1 .*text.so: it cannot be loaded: .*(invalid ELF header|file too short)" "a file that is no library"
echo 'int other;' | gcc -shared -fPIC -x c -o plain.so -
vp --check ./plain.so
like "$status $err" "^1 .*plain.so: it has no table _dispatch" "a library that is no plug-in"
for name in values values.replay values.trace; do
    VP_NAME=$name vp --check ./test.so
    like "$status $err" "^1 .*: its name $name is reserved" "the name $name is reserved"
done
for name in '' 'a b' a/b .hidden $'a\nb'; do
    VP_NAME=$name vp --name ./test.so
    is "$status $out" "1 " "the name '$name' is refused"
done
VP_IN=name VP_DO=long vp --name ./test.so
like "$status $err" "^1 .*longer than 255" "one that is too long too"
VP_IN=name VP_DO=null vp --name ./test.so
is "$status $out" "1 " "and none"
for wrong in "" "--answer" "--nothing vp-addr" "--limit 0 --name vp-addr" "--name vp-addr more"; do
    # shellcheck disable=SC2086
    vp $wrong
    is "$status" 2 "a wrong command line: $wrong"
done

# --- Captured values ---
mapfile -t c < <(code 'add %rcx,8(%rax)' 'add %rcx,%rax' 'mov 8(%rax),%rdx' 'nop' 'mov 8(%rax),%dl' 'mov %rax,(%rdx)' 'call *%rbx' 'ret' \
    'vaddpd %zmm1,%zmm2,%zmm3' 'lea 8(%rax),%rbx')
add_memory=${c[0]} add=${c[1]} load=${c[2]} nop=${c[3]} load_byte=${c[4]} store=${c[5]} call=${c[6]} ret=${c[7]} wide=${c[8]} lea=${c[9]}
captures() { is "$(VP_SPEC=$1 items "${4:-./test.so}" "$2")" "$3" "${4:-$1} of ${2}"; }
captures operands "$add_memory" "stored:0,0,8,0 general:1,0,8,0 address:0,0,8,0 loaded:0,0,8,0 stored:0,0,8,0"
captures operands "$add" "general:0,0,8,0 general:1,0,8,0"
captures operands "$nop" ""
captures pick "$add" "general:0,0,8,0"
captures pick "$nop" ""
captures pick "$store" "-"
captures registers "$add" "general:0,0,8,0 general:15,0,8,0 general:16,0,8,0 vector:31,7,8,0 mask:3,0,8,0 x87:2,0,8,0"
captures registers "$load" "-"
captures two "$add" "general:0,0,8,0 general:1,0,8,0 general:0,0,8,0"
captures two "$add_memory" "stored:0,0,8,0 general:1,0,8,0 general:0,0,8,0"
captures same "$add" "$(printf 'general:0,0,8,0 %.0s' 1 2 3 4 5 6 7 | sed 's/ $//')"
captures basic "$load" ""
captures basic "$add" "-"
captures none "$add" "-"
captures - "$load" "address:0,0,8,0" vp-addr
captures - "$add" "-" vp-addr
captures - "$lea" "-" vp-addr
captures - "$load" "general:2,0,8,0" vp-classic
captures - "$wide" "vector:3,0,8,0" vp-classic
captures - "$store" "-" vp-classic
captures - "$call" "general:7,0,8,0 general:6,0,8,0 general:2,0,8,0 general:1,0,8,0 general:8,0,8,0 general:9,0,8,0 general:3,0,8,0" vp-args
captures - "$ret" "general:0,0,8,0" vp-args
captures - "$load" "address:0,0,8,0" ./vp-ldq-addr.so
captures - "$store" "-" ./vp-ldq-addr.so

# Ask questions one by one and many at once, by streams and by packets.
for n in $(seq 200); do echo "$((1000 * n)) ${c[$((n % ${#c[@]}))]}"; done >many
for how in stream packets; do
    is "$("$ASKING" answer "$VP" vp-addr $how <many | md5sum)" \
        "$({ while read -r line; do echo "$line" | "$ASKING" answer "$VP" vp-addr | head -1; done <many; echo "status 0"; } | md5sum)" \
        "200 questions at once ($how)"
done

# --- Each entry may be missing --- The traces: three entries, of 3, 0 and 1 values; then one entry
# without a context.
cat >trace <<EOF
E 1000 $add_memory 7 8 11 22 33
E 1008 $add 9 a
E 1010 $nop 0 0 44
F 4711 1
E 1000 $add_memory 7 8 11
F 4711 0
EOF
process() { "$ASKING" process "$VP" ./test.so <"${1:-trace}" 2>asking.err; }
want="tuples 3
1000 7 c 200000022
1008 9 d 0
1010 0 dead 100000044
tuples 1
1000 1267 4 100000011
status 0"
plain="tuples 4
1000 7 8 11
1000 7 8 22
1000 7 8 33
1010 0 0 44
tuples 1
1000 0 0 11
status 0"
is "$(process)" "$want" "prof_process makes tuples of all that the parser tells"
rm -f log
is "$(VP_LOG=$T/log process)" "$want" "and again"
is "$(xargs <log)" "loading it init name prof_init prof_process prof_process prof_release release" "its calls come in order"
for n in $(seq 23); do echo "E $((1000 + n)) $add 0 0 $n"; done >long
echo "F 1 1" >>long
is "$(process long | head -1),$(process long | sed -n 2,24p | awk '{ print $1 }' | xargs)" "tuples 23,$(seq 1001 1023 | xargs)" \
    "it is called until the parser is empty, whatever its buffer holds"
echo "F 1 1" >empty
is "$(process empty | head -1)" "tuples 0" "an empty trace"
formats() { printf '%s\n' "$@" | VP_SPEC=- run_with_limit 60 "$VP" --format ./test.so 2>format.err; }
full="+add/4 rcx 8
+17 of add end
-
+add/3 rax 0
+1 of add end
+18446744073709551615 of add end"
lines=("I 48034808" "V 11" "I 90" "I $add" "V 1" "V ffffffffffffffff")
is "$(formats "${lines[@]}")" "$full" "preface and format"
rm -f log
is "$(VP_LOG=$T/log formats "${lines[@]}")" "$full" "and again"
is "$(xargs <log)" "loading it init name preface format preface preface format format release" "preface once for each instruction, prof_init not at all"
is "$(formats 'V 1' 'I zz' 'I ' 'I 06' X 'I 4' "I $add" 'V x' 'V ' "V 11112222333344445" 'V 2' "$(printf 'V %0500d' 1)" | sed 's/ .*//' | xargs)" \
    "!there !these !these !these !a !these +add/3 !this !this !this +2 +1" "lines that are wrong are reported, and it goes on"
# Instructions print as in objdump, except for spaces and names of the same thing.
cat >text.s <<'S'
mov %rdi,0x8(%rsp)
vaddpd (%rax),%ymm0,%ymm1
addsd (%rdi),%xmm0
movzbl %al,%eax
movslq (%rdi,%rax,4),%rdx
movslq %ecx,%rdx
movsd (%rsi,%rdx,8),%xmm0
movsd %xmm1,%xmm2
movsd %xmm1,-0x8(%rsp)
lock cmpxchg %rcx,(%rdi)
movq $0x7,0x10(%rdi)
lea -0x8(%rax,%rcx,4),%r13
call .+16
jne .-4
S
as -o text.o text.s && objcopy -O binary -j .text text.o text.bin && objdump -d -w text.o | sed -n 's/^ *\([0-9a-f]*\):\t\([0-9a-f ]*\)\t/\1 \2\t/p' >text.all
while IFS=$'\t' read -r where said; do
    read -r address bytes <<<"$where"
    echo "D ${bytes// /} $address"
    sed -E 's/ *<.*//; s/movzbl/movzx/; s/jne/jnz/; s/(call|jnz) +(0x)?/\1 0x/; s/  +/ /g; s/, */,/g; s/^ +| +$//g' <<<"$said" >>text.want
done <text.all >text.asked
is "$(formats "$(cat text.asked)" | sed 's/^+//; s/, /,/g')" "$(cat text.want)" "instructions are written as objdump writes them"
is "$(formats 'D 06 1000' 'D 90' 'D 90 x' 'D 90 10' | sed 's/ .*//' | xargs)" "!these !after !after +nop" "or told to be none"
for entry in init release prof_release name; do
    is "$(VP_NULL=,$entry process)" "$want" "no $entry: traces"
    is "$(VP_NULL=,$entry formats "${lines[@]}")" "$full" "no $entry: formats"
done
is "$(VP_NULL=,name "$VP" --name ./test.so)" test "no name: the file's"
is "$(VP_NULL=,prof_init process)" "$want" "no prof_init: traces"
is "$(VP_NULL=,prof_init "$VP" --check ./test.so),$(VP_NULL=,prof_init VP_SPEC=- items ./test.so "$add")" "vp-test,-" "no prof_init: nothing is captured"
is "$(VP_NULL=,prof_process process)" "$plain" "no prof_process: each value is one"
is "$(VP_NULL=,preface formats "${lines[@]}" | tr '\n' '|')" "+|+17 of add end|+|+|+1 of add end|+18446744073709551615 of add end|" "no preface"
is "$(VP_NULL=,format formats "${lines[@]}" | xargs)" "+add/4 rcx 8 +0x11 - +add/3 rax 0 +0x1 +0xffffffffffffffff" "no format: in hexadecimal"
is "$(VP_IN=format VP_DO=null formats "${lines[@]}" | xargs)" "+add/4 rcx 8 +0x11 - +add/3 rax 0 +0x1 +0xffffffffffffffff" "a format that gives NULL too"
is "$(VP_IN=preface VP_DO=null formats "I $add")" "-" "a preface that gives NULL leaves the list out"
all=,init,release,prof_init,prof_release,prof_process,name,preface,format
is "$(VP_NULL=$all process),$(VP_NULL=$all formats "I $add" 'V 1' | xargs),$(VP_NULL=$all "$VP" --check ./test.so)" "$plain,+ +0x1,test" "a table of nothing"

# --- Refused specifications ---
refused() {
    vp --check ./test.so
    like "$status $err" "^1 regtrace-vprofiler: ./test.so: $1" "refused: $1"
    is "$(echo "1000 $add" | "$ASKING" answer "$VP" ./test.so 2>asking.err | xargs),$(grep -cE "$1" asking.err)" "no answer status 1,1" "and no question is answered"
}
VP_SPEC=latency refused 'load latency \(TRACE_LATENCY\) is not to be had: it needs a record of the PMU'
VP_SPEC=eight refused 'prof_init asks for more than 7 values of one instruction'
VP_SPEC=equal refused 'prof_init asks for more than 7 values of one instruction'
VP_SPEC=wrong refused 'prof_init asks for a value \(0x21100\) or opcode that there is not'
VP_SPEC=opcode refused 'prof_init asks for a value \(0x0\) or opcode that there is not'
VP_IN=prof_init VP_DO=null refused 'prof_init has given no specification'
VP_IN=prof_init VP_DO=garbage refused 'what prof_init has given is no specification'
VP_IN=prof_init VP_DO=pointer refused 'the specification of prof_init has crashed: Segmentation fault'
VP_IN=prof_init VP_DO=damage refused 'the specification of prof_init is damaged'

# --- Plug-ins that misbehave --- fails PHASE REASON: misbehaves in PHASE in all callers; checks the
# message, and that the program ends.
call_answer() { echo "1000 $add" | "$ASKING" answer "$VP" ./test.so 2>&1 | xargs; }
call_process() { process 2>&1 | tail -2 | xargs; }
call_format() { formats "${lines[@]}" | xargs; }
declare -A callers=(["loading it"]="answer process format" [init]="answer process format" [name]="answer process format" [prof_init]="answer process"
    [prof_process]=process [preface]=format [format]=format [prof_release]="answer process" [release]="answer process format")
fails() {
    local phase=$1 reason=$2 caller said
    for caller in ${callers[$phase]}; do
        said=$("call_$caller")
        case $caller in
        answer) like "$said" "$phase $reason.* no answer status 1$" "$VP_DO in $phase: --answer" ;;
        process)
            like "$(cat asking.err) $said" "$phase $reason.*status 1$" "$VP_DO in $phase: --process"
            # The plug-in's last calls come when the writer can no longer be told.
            case $phase in
            *release) is "${said##* }" 1 "$VP_DO in $phase: with all answers" ;;
            *) like "$said" "failed: ./test.so: $phase $reason|no answer" "$VP_DO in $phase: the writer gets the text" ;;
            esac
            ;;
        format) like "$said $(cat format.err)" "test.so: $phase $reason" "$VP_DO in $phase: --format" ;;
        esac
    done
}
for phase in "${!callers[@]}"; do
    VP_IN=$phase VP_DO=crash fails "$phase" "has crashed: Segmentation fault"
    VP_IN=$phase VP_DO=abort fails "$phase" "has crashed: Aborted"
    VP_IN=$phase VP_DO=exit fails "$phase" "has ended its process .exit status 0."
done
ls core* >/dev/null 2>&1
isnt $? 0 "no crash leaves a core file"
VP_IN=prof_process VP_DO=eat fails prof_process "has crashed: Aborted"

# The same with a full queue of signals, which has no room for a timer.
like "$(ulimit -i 0; VP_IN=init VP_DO=hang "$VP" --limit 1 --check ./test.so 2>&1)" "has not returned within 1 s" "hang with a full queue of signals"
is "$(ulimit -i 0; process)" "$want" "traces with a full queue of signals"

# Hang in all calls at once: each waits for its own limit only.
i=0
for phase in "${!callers[@]}"; do
    for caller in ${callers[$phase]}; do
        mkdir "hang.$i"
        (
            cd "hang.$i" && ln -s ../test.so ../trace . || exit 1
            export VP_IN=$phase VP_DO=hang LIMIT=5
            case $caller in
            format) printf '%s\n' "${lines[@]}" | "$VP" --limit 5 --format ./test.so 2>&1 ;;
            *) "call_$caller" && cat asking.err 2>/dev/null ;;
            esac
        ) >"hang.$i/said" &
        hung[i++]="$caller in $phase:$phase"
    done
done
wait
for n in "${!hung[@]}"; do
    like "$(xargs <"hang.$n/said")" "${hung[n]#*:} has not returned within 5 s" "hang of --${hung[n]%:*}"
done

# Plug-ins must not reach standard output and input.
for phase in "${!callers[@]}"; do
    case ${callers[$phase]} in
    *format*) is "$(VP_IN=$phase VP_DO=print formats "${lines[@]}"),$(grep -c 'printed by the plug-in' format.err | sed 's/[1-9]/n/')" "$full,n" "print in $phase: to standard error" ;;
    esac
    for what in print write read fork; do
        case ${callers[$phase]} in
        *process*) is "$(VP_IN=$phase VP_DO=$what process)" "$want" "$what in $phase: traces are as they were" ;;
        esac
        case ${callers[$phase]} in
        *answer*) is "$(VP_SPEC=- VP_IN=$phase VP_DO=$what items ./test.so "$add")" "general:0,0,8,0 general:1,0,8,0" "$what in $phase: answers are as they were" ;;
        esac
    done
done

if grep -q '^Seccomp:' /proc/self/status; then
    is "$(ls forked 2>&1 | tail -c 26)" "No such file or directory" "a plug-in starts no processes"
else
    skip "a plug-in starts no processes" "this kernel has no filters of system calls"
fi

# Wrong results of prof_process, and wrong input of the writer
process_fails() { like "$(VP_IN=prof_process VP_DO=$1 process | xargs)" "failed: ./test.so: .*$2.* status 1$" "prof_process that does $1"; }
process_fails nothing 'prof_process reads nothing of the trace'
process_fails fail 'prof_process has failed \(-3\)'
process_fails endless 'prof_process has made more than 131072 values of one trace'
process_fails null 'prof_process has given no samples \(NULL\), but 3 of them'
process_fails pointer 'prof_process has crashed: Segmentation fault'
process_fails damage 'prof_process has (crashed|damaged the parser)'
frame() { process "$1" | xargs; }
printf 'E 1 %s 0 0 1 2 3 4 5 6 7 8\nF 1 1\n' "$add" >damaged
like "$(frame damaged)" 'the trace of the writer is damaged status 1' "eight values of one instruction"
{ for n in $(seq 12000); do echo "E $n $add 0 0 1 2 3 4 5"; done; echo "F 1 1"; } >large
like "$(frame large)" 'a trace of the writer is too long status 1|no answer status 1' "a trace that is too long"
echo 'R 09000000000000000000000000000000' >other
like "$(frame other)" 'the trace of the writer is damaged status 1' "a frame of another kind"
head -c 12 /dev/zero | "$VP" --process ./test.so 2>/dev/null
is "${PIPESTATUS[1]}" 1 "a frame that ends early"

# --- The example ---
cat >example <<EOF
E 401000 $load 0 0 7ffffffff008
E 401004 $load_byte 0 0 7ffffffff010
E 401008 $load 1 2 7ffffffff018
F 1 0
E 401000 $load 1 2 7ffffffff020
F 1 1
EOF
is "$("$ASKING" process "$VP" ./vp-ldq-addr.so <example | xargs)" \
    "tuples 2 401000 0 0 7ffffffff008 401008 0 0 7ffffffff018 tuples 1 401000 1 2 7ffffffff020 status 0" "the example: addresses of loads of 8 bytes alone"
is "$(printf 'I %s\nV 7ffffffff008\nV ffff7ffffffff008\n' "$load" | "$VP" --format ./vp-ldq-addr.so | xargs)" "+addr +7ffffffff008 +7ffffffff008" "and its format"
for n in $(seq 3000); do echo "E $n $load 0 0 $n"; done >long
echo "F 1 1" >>long
is "$("$ASKING" process "$VP" ./vp-ldq-addr.so <long | awk 'NR > 1 && NR < 3002 && $1 == $4 { n++ } END { print n }')" 3000 "more than its buffer holds"

# --- The installed plug-ins ---
shows() { printf '%s\n' "${@:2}" | "$VP" --format "$1" | xargs; }
mapfile -t c < <(code 'addsd %xmm1,%xmm2' 'addss %xmm1,%xmm2' 'vaddps %ymm1,%ymm2,%ymm3' 'fadd %st(1),%st' 'mov %ch,%ah' 'imul %rcx' 'cmp %rax,%rbx' 'mov %r9d,%r10d' \
    'mov (%rax),%r15w' 'kmovq %rax,%k3' 'pop %r12')
is "$(shows vp-classic "I ${c[0]}" 'V 3ff8000000000000' "I ${c[1]}" 'V 3fc00000' "I ${c[2]}" 'V 3fc000003fc00000' "I ${c[3]}" 'V 4000000000000000')" \
    "+xmm2 +1.5 +xmm2 +1.5 +ymm3 +0x3fc000003fc00000 +st(0) +2" "vp-classic: numbers by their kind"
is "$(shows vp-classic "I ${c[4]}" 'V 12' "I ${c[5]}" 'V 12' "I ${c[6]}" "I ${c[7]}" "I ${c[8]}" "I ${c[9]}" "I ${c[10]}")" \
    "+ah +0x12 +rax +0x12 - +r10d +r15w +k3 +r12" "vp-classic: registers as they are written"
is "$(shows vp-addr "I $load" 'V 7fff00' "I $add" "I $ret" "I $lea")" "+addr +0x7fff00 - +addr -" "vp-addr"
printf 'E 400000 e811000000 5 6 1 2 3 4 5 6\nE 400005 %s 5 6 a b c d e f 999\nE 40000a c3 5 6 77\nF 1 1\n' "$call" >calls
is "$("$ASKING" process "$VP" vp-args <calls | xargs)" "tuples 13 $(for n in 1 2 3 4 5 6; do echo "400000 $n 400016 $n"; done | xargs) $(
    for n in 1 2 3 4 5 6; do printf '400005 %x 999 %x\n' $n $((n + 9)); done | xargs) 40000a 0 0 77 status 0" "vp-args: the argument's number, the called function"
is "$("$ASKING" process "$VP" vp-addr <calls | head -2 | xargs)" "tuples 14 400000 5 6 1" "a plug-in without prof_process"

# --- In a run: program and recording survive a plug-in that fails ---
# Some hundred samples: on a busy machine the first ones come before the plug-in's process answers.
cat >spin.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sum;
static void spin(long n)
{
    while (n-- > 0)
        sum++;
}
int main(int argc, char **argv)
{
    if (argc > 1 && chdir(argv[1]) != 0)
        return 9;
    for (int i = 0; i < 2; i++)
        if (argc > 1 && fork() == 0) {
            spin(1000000000);
            _exit(0);
        }
    spin(1000000000);
    while (wait(NULL) > 0)
        continue;
    puts("done");
    return 4;
}
END
cc -O2 -o spin spin.c || exit 99
VP_IN=prof_process VP_DO=crash run 120 "$REGTRACE" run -quiet -o crashed -values ./test.so -values-sample cpu:1ms -- ./spin
is "$status $out" "4 done" "a plug-in crashes in the writer's child: the program goes on"
said=$("$REGTRACE" values -plugin none crashed 2>&1)
unlike "$said" 'not closed' "its file is closed"
like "$said" '[1-9][0-9]* samples' "and has its samples"
# Without `run`, which makes the path absolute, the children do not find the plug-in.
run 120 env REGTRACE_DIR="$T/away" REGTRACE_VALUES=./test.so REGTRACE_VALUES_SAMPLE=cpu:1ms LD_PRELOAD="$LIBREGTRACE" ./spin /
is "$status $out" "4 done" "a plug-in that children cannot find: they go on without values"
run 120 "$REGTRACE" run -quiet -o found -values ./test.so -values-sample cpu:1ms -- ./spin /
is "$status $out" "4 done" "by \`run\` they find it"
like "$("$REGTRACE" values -plugin none found 2>&1)" '3 processes' "all of them"
run 60 "$REGTRACE" run -quiet -o classic -values vp-classic -values-sample cpu:1ms -- ./spin
run 60 "$REGTRACE" values -diff classic found
is "$status" 1 "values of two plug-ins"
like "$err" 'runs of one plug-in are legal' "are not compared"
done_testing
