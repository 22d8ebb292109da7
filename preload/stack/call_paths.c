/* SPDX-License-Identifier: BSD-3-Clause
 * Enters call paths into the stream, with the images that their code lies in: an address alone has
 * no meaning once the image is gone. */
#include "preload/stack/call_paths.h"

#include "base/log.h"
#include "base/return_address.h"
#include "preload/images/image_records.h"
#include "preload/memory/memory_copies.h"
#include "preload/process.h"
#include "preload/stack/call_walk.h"

RT_COLD static void warn_full(void)
{
    static _Atomic bool warned;
    if (!atomic_exchange(&warned, true))
        log_line(LOG_WARNING, "too many call paths: further MPI calls and samples have none");
}

uint32_t path_enter(uint32_t parent, uintptr_t address)
{
    const struct stream *s = &recorder_stream;
    struct image_facts m;
    if (!recorder_is_on())
        return 0;
    bool has_copies = process.options.text[OPT_memory][0] != '\0';
    uintptr_t meant = has_copies ? memory_copy_stands_for(address) : address;
    bool found = image_of(meant, &m);
    const struct stream_path path = {
        .parent = parent,
        .address = address,
        .image = found ? stream_string_id(s, m.path) : 0,
        .build_id = found ? stream_string_id(s, m.build_id) : 0,
        .offset = found ? meant - m.base : meant,
    };
    uint32_t number = stream_path_enter(s, &path);
    if (number == 0)
        warn_full();
    return number;
}

uint32_t call_path_at(uintptr_t return_at)
{
    unsigned most = (unsigned)process.options.number[OPT_callpath];
    if (most > 1)
        return call_path_from_return(return_at, most);
    return most == 1 ? path_of(0, return_address_read(return_at)) : 0;
}
