#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: like waits.t, with 1,000 interrupted calls of each function. Prints how late the calls
# were, with and without the tracer.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/waits.sh"

"$W" bare calls 100 10 | sed 's/^/# bare: /'
waits_calls 'timeouts' 3000 1000 -control "$TIMEOUTS"
sed 's/^/# /' "$T/waits.out"
waits_calls 'timeouts, bcast' 3000 1000 -control "$BCAST"
waits_asked 'ctl' 3000 100
waits_handlers 'handlers' 600 1000 100us
waits_handlers 'handlers, seldom' 600 1000 1ms
done_testing
