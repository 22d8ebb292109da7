/* SPDX-License-Identifier: BSD-3-Clause
 * Declares the parts of the page that tools/embed.py makes of share/page. For tools/page only. */
#ifndef REGTRACE_TOOLS_PAGE_PAGE_PARTS_H
#define REGTRACE_TOOLS_PAGE_PAGE_PARTS_H

extern const char page_before_report[], page_before_timeline[], page_end[];

#endif
