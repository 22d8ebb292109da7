#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The preloaded library alone refuses what `regtrace run` refuses, before main and in the same
# words.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99

printf '#include <regtrace.h>\nint main(void) { regtrace_region_begin("r"); regtrace_region_end("r"); return 7; }\n' >p.c
cc -I"$REGTRACE_SOURCE/share/include" -o p p.c || exit 99
cat >app <<'END'
#!/bin/bash
echo >"$T/started"
exec "$T/p"
END
chmod +x app
export T
printf 'start:icount:5\nstart:sginal:USR1\n' >"$T/chains"
printf 'no plug-in\n' >"$T/plugin.so"
ranks=; for ((i = 0; i < 300; i++)); do ranks+="start:pcontrol:level=$i;"; done

# text MESSAGES: prints them without the name of the program that gives them, and without the line
# that only the library has.
text() { sed -e 's/^regtrace run: //' -e 's/^regtrace: //' -e '/^the program was not started/d' <<<"$1"; }

# both OPTION VALUE...: runs with options of regtrace run, then with the same values as variables.
both() {
    local options=() variables=()
    while [ $# -gt 0 ]; do
        options+=("-$1")
        [ "$1" = count ] || options+=("$2") # a switch
        case $1 in
        output) variables+=("REGTRACE_DIR=$2") ;;
        *) variables+=("REGTRACE_$(tr a-z- A-Z_ <<<"$1")=$2") ;;
        esac
        shift 2
    done
    rm -f "$T/started"
    run 60 env REGTRACE_DIR="$T/run" "$REGTRACE" run "${options[@]}" -- "$T/app"
    by_run="$status $(text "$err")" printed=$out
    run 60 env REGTRACE_DIR="$T/run" "${variables[@]}" LD_PRELOAD="$LIBREGTRACE" "$T/p"
    by_library="$status $(text "$err")"
}

# refused NAME ERE OPTION VALUE...: checks that both refuse the options, with a message that matches
# ERE.
refused() {
    local name=$1 pattern=$2
    shift 2
    both "$@"
    is "$by_library" "$by_run" "$name: the same words and code by both"
    like "$by_library" "^2 .*$pattern" "$name: refused with the reason"
    [ ! -e "$T/started" ] && [ ! -e "$T/run" ] && [ -z "$out$printed" ]
    ok $? "$name: the program has not run"
}

refused 'an unknown alarm' "unknown alarm type 'sginal'" control start:sginal:USR1
refused 'a chain that waits for none' "waitfor of an unknown chain 'nosuch'" control start:timeout:5,waitfor:nosuch
refused 'the same with steps' "waitfor of an unknown chain 'nosuch'" pmu step control start:timeout:5,waitfor:nosuch
refused 'a circle with steps' 'the chain waits for itself' pmu step control start:timeout:5,name:a,waitfor:a
refused 'two uniforms with steps' 'a second uniform' pmu step control 'uniform:100:10:2;uniform:50:10:2'
refused 'too many alarms with steps' 'at most 256' pmu step control "$ranks"
refused 'a wrong control file' "unknown alarm type 'sginal'" control-file "$T/chains"
refused 'no control file' 'nosuchfile' control-file "$T/nosuchfile"
refused 'icount without a counter' 'icount is not available: REGTRACE_PMU .option -pmu. is none' pmu none control start:icount:100
refused 'a legacy option without a counter' 'icount is not available' pmu none skip 100
refused 'a counting run without a counter' 'a counting run .* is not possible: REGTRACE_PMU .option -pmu. is none' pmu none count 1
refused 'an unknown counter' 'REGTRACE_PMU .option -pmu. is "abacus"' pmu abacus
refused 'samples of nothing' 'REGTRACE_SAMPLE .option -sample.' sample nosuch:10
refused 'samples too often' 'REGTRACE_SAMPLE .option -sample.' sample cpu:1ns
refused 'samples in gaps that cannot be' 'REGTRACE_SAMPLE .option -sample.' sample cpu:10ms:gaps
refused 'an unknown event' 'nosuch' events nosuch
refused 'too many events' 'REGTRACE_EVENTS|events' events page-faults,page-faults,page-faults,page-faults,page-faults,page-faults,page-faults,page-faults,page-faults
refused 'events in MPI calls without events' 'REGTRACE_EVENTS_MPI .option -events-mpi. needs events' events-mpi 1
refused 'a log that cannot be written' 'REGTRACE_CONTROLLER_LOG .option -controller-log.: .* cannot be written' control start:signal:USR1 controller-log "$T/no/such/log"
refused 'no expression' 'no extended regular expression' exclude 'a('
refused 'a wrong number' 'REGTRACE_COMPRESS .option -compress. is "10"' compress 10
refused 'a wrong choice' 'REGTRACE_FULL .option -full. is "often"' full often
refused 'a wrong flag' '0 or 1' mpi yes
if [ -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ]; then
    refused 'values at no moment' 'REGTRACE_VALUES_SAMPLE .option -values-sample.' values vp-addr values-sample nosuch:1
    refused 'no plug-in of values' 'REGTRACE_VALUES .option -values.: ' values "$T/nosuch.so"
    refused 'a plug-in that is none' 'REGTRACE_VALUES .option -values.: ' values "$T/plugin.so"
else
    skip 'plug-ins of values' 'built without Zydis'
fi

refused 'memory traces with functions' 'memory traces .REGTRACE_MEMORY. cannot be combined with -functions' memory . functions .
refused 'memory traces until a function returns' 'cannot be combined with -functions, nor with exit_func' memory . control start:timeout:5,stop:exit_func:main
refused 'no writer' 'REGTRACE_WRITER .option -writer. names .*/nosuch, which cannot be run: No such file' writer "$T/nosuch"
refused 'a writer that is no program' 'names .*/chains, which cannot be run: Permission denied' writer "$T/chains"
refused 'a writer that is a folder' 'names .*, which cannot be run: Is a directory' writer "$T"
refused 'no folder for streams' 'the folder for streams .*/nosuch .* cannot be used: No such file .* for example -shm /tmp' shm "$T/nosuch"
refused 'a file as folder for streams' 'the folder for streams .*/chains .* cannot be used' shm "$T/chains"
refused 'a folder that cannot be made' 'cannot make the folder /proc/x: No such file or directory; name another' output /proc/x
refused 'a folder without its parent' 'cannot make the folder .*/nosuch/run: .* its parent folder does not exist' output "$T/nosuch/run"
refused 'a file of that name' 'cannot make the folder .*/chains: Not a directory' output "$T/chains"

# access(2) allows root this folder. A rank that went on would wait in MPI_Init for the others.
run 60 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 REGTRACE_DIR=/proc/x LD_PRELOAD="$LIBREGTRACE" "$T/p"
is "$status" 2 "a folder that cannot be made: rank 1 refuses too"

# A traced program starts a program whose places are missing.
cat >starts.c <<'END'
#include <regtrace.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    regtrace_region_begin("r");
    regtrace_region_end("r");
    return argc < 4 || setenv(argv[1], argv[2], 1) != 0 ? 99 : execv(argv[3], argv + 3);
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o starts starts.c || exit 99
for missing in "WRITER $T/nosuch" "SHM $T/nosuch"; do
    # shellcheck disable=SC2086  # name and value
    run 60 env REGTRACE_DIR="$T/${missing%% *}" LD_PRELOAD="$LIBREGTRACE" ./starts REGTRACE_$missing "$T/p"
    is "$status$out$err" 7 "$missing in a program that a traced one starts: it runs"
    like "$(cat "$T/${missing%% *}/regtrace.log")" "error: nothing is recorded.*$T/nosuch" "$missing: and the log says why it is not recorded"
done
is "$(find . -name '*.tmp-*')" "" "nothing is left of the folders that were tried"
done_testing
