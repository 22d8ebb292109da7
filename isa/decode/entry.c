/* SPDX-License-Identifier: BSD-3-Clause
 * Finds main of a stripped program from its entry code. */
#include "isa/decode/code_map.h"

#include <string.h>

static bool is_start_main(const struct code *c, const struct instruction *i)
{
    static const char wanted[] = "__libc_start_main";
    const struct image *m = c->image;
    const char *name = i->form.relative ? image_slot_name(m, i->memory) : NULL;
    for (size_t k = 0; k < m->symbol_count && name == NULL && i->form.flow == FLOW_CALL; k++)
        if (m->symbols[k].address == i->target)
            name = m->symbols[k].name;
    return name != NULL && strcmp(name, wanted) == 0;
}

/* Returns the address that the entry code passes to __libc_start_main in rdi (psABI x86-64); 0 if
 * that is not found. */
uint64_t code_find_main(const struct code *c)
{
    struct instruction i;
    uint64_t at = c->image->entry, value = 0;
    for (unsigned n = 0; n < 24 && code_is_sure(c, at) && code_decode(c, at, &i);
         n++, at = i.next) {
        const struct form *f = &i.form;
        bool plain = f->map == ZYDIS_OPCODE_MAP_DEFAULT;
        if (f->lea && f->relative && f->reg == 7 && f->rex_r == 0)
            value = i.memory;
        else if (plain && ((f->opcode == 0xbf && f->rex_b == 0) ||
                           (f->opcode == 0xc7 && f->mod == 3 && f->rm == 7 && f->rex_b == 0)))
            value = instruction_immediate(&i);
        else if (i.form.flow == FLOW_CALL || i.form.flow == FLOW_CALL_POINTER)
            return is_start_main(c, &i) && code_at(c, value) != NULL ? value : 0;
    }
    return 0;
}
