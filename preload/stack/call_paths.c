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

#include <errno.h>

RT_COLD static void warn_full(void)
{
    static _Atomic bool warned;
    if (!atomic_exchange(&warned, true))
        log_line(LOG_WARNING, "too many call paths: further MPI calls and samples have none");
}

/* A path has been entered whose code lies in no image that was noted. */
static _Atomic bool has_missed;

uint32_t path_enter(uint32_t parent, uintptr_t address)
{
    const struct stream *s = &recorder_stream;
    struct image_facts m;
    if (!recorder_is_on())
        return 0;
    bool has_copies = process.options.text[OPT_memory][0] != '\0';
    uintptr_t meant = has_copies ? memory_copy_stands_for(address) : address;
    bool found = image_of(meant, &m);
    if (!found)
        atomic_store_explicit(&has_missed, true, memory_order_relaxed);
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

/* Was an image missed that is known now? Its load was not noticed: nothing was recorded then, or it
 * was linked without crti.o, or the program has a __gmon_start__ of its own (new_images.c). */
static bool has_found_missed(void)
{
    if (RT_LIKELY(!atomic_load_explicit(&has_missed, memory_order_relaxed)) ||
        recorder_self.in_toolkit != 0)
        return false;
    atomic_store_explicit(&has_missed, false, memory_order_relaxed);
    int keep = errno;
    bool found = images_note_missed();
    errno = keep;
    return found;
}

uint32_t call_path_entered(uint32_t parent, uintptr_t address)
{
    uint32_t path = path_enter(parent, address);
    return has_found_missed() ? path_of(parent, address) : path;
}

uint32_t call_path_of_stack(uintptr_t return_at, unsigned most)
{
    uint32_t path = call_path_from_return(return_at, most);
    return has_found_missed() ? call_path_from_return(return_at, most) : path;
}

uint32_t call_path_at(uintptr_t return_at)
{
    unsigned most = (unsigned)process.options.number[OPT_callpath];
    if (most > 1)
        return call_path_from_return(return_at, most);
    return most == 1 ? path_of(0, return_address_read(return_at)) : 0;
}
