#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Stands in for `regtrace-vprofiler --format PLUG-IN` in t/tools/values/values.t: a preface that
# depends on the code, and decimal values. The plug-in "crash" ends it at once.
[ "$1" = --format ] || exit 2
[ "$2" != crash ] || kill -SEGV $$
while read -r kind text; do
    case $kind:$text in
        I:90) echo - ;;
        I:488b07) echo '+addr' ;;
        I:*) echo + ;;
        D:*) echo '!' ;;
        V:*) echo "+$((16#$text))" ;;
    esac
done
