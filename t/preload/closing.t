#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A writer closes its file and ends while its process checks whether it is alive. That writer was
# not killed, and no message says that it was.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
cc -o closing "$REGTRACE_SOURCE/t/preload/closing.c" 2>err || skip_all 'no PTRACE_GET_SYSCALL_INFO here'
printf '#include <regtrace.h>\nint main(void) { regtrace_region_begin("r"); regtrace_region_end("r"); return 7; }\n' >p.c
cc -I"$REGTRACE_SOURCE/share/include" -o p p.c || exit 99
cat >writer <<END
#!/bin/bash
until [ -e "$T/go" ]; do sleep 0.01; done
exec "$REGTRACE_WRITER_PROGRAM" "\$@"
END
chmod +x writer
export LIBREGTRACE
REGTRACE_WRITER=$T/writer REGTRACE_DIR=$T/run run 60 ./closing "$T/go" ./p
is "$out" 'asked yes, status 7' 'the writer ends where its process asks for it'
is "$(cat run/regtrace.log 2>&1)" 'cat: run/regtrace.log: No such file or directory' 'the log says nothing of it'
ok_run 'the file is complete' "$REGTRACE" check run
run 60 "$REGTRACE" recover run
like "$out" 'nothing to recover' 'and recover finds it so'
done_testing
