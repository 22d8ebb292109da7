/* SPDX-License-Identifier: BSD-3-Clause
 * Declares the parts of the page that embed.py makes of share/timeline. For tools/timeline only. */
#ifndef REGTRACE_TOOLS_TIMELINE_PAGE_H
#define REGTRACE_TOOLS_TIMELINE_PAGE_H

#include "tools/timeline/tracks.h"

extern const char timeline_page_before_data[], timeline_page_before_meta[], timeline_page_end[];

#endif
