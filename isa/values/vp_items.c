/* SPDX-License-Identifier: BSD-3-Clause
 * Selects what to capture of an instruction: those values of the specification that it has. */
#include "isa/values/vp.h"

/* Makes an item for a register. Returns false if the register cannot be captured. */
static bool register_item(trace_value_t v, unsigned bits, unsigned shift, struct values_item *i)
{
    static const uint8_t sources[TRACE_KINDS] = {
        [TRACE_KIND_GENERAL] = VALUES_GENERAL,
        [TRACE_KIND_VECTOR] = VALUES_VECTOR,
        [TRACE_KIND_MASK] = VALUES_MASK,
        [TRACE_KIND_X87] = VALUES_X87,
    };
    unsigned kind = TRACE_KIND(v);
    if (kind < TRACE_KIND_GENERAL || kind > TRACE_KIND_X87)
        return false;
    *i = (struct values_item){
        .source = sources[kind],
        .index = (uint8_t)TRACE_INDEX(v),
        .lane = (uint8_t)TRACE_LANE(v),
        .size = (uint8_t)(bits / 8),
        .shift = (uint8_t)shift,
    };
    return true;
}

/* Makes an item for the bytes loaded or stored at the address, at most 8. Returns false if there
 * are none. */
static bool memory_item(const struct vp_decoded *d, enum values_source source,
                        struct values_item *i)
{
    const ZydisDecodedOperand *o = d->memory >= 0 ? &d->operands[d->memory] : NULL;
    if (o == NULL || vp_is_partial(d) || !vp_is_accessed(d, o))
        return false;
    if ((o->actions & (source == VALUES_LOADED ? ZYDIS_OPERAND_ACTION_MASK_READ
                                               : ZYDIS_OPERAND_ACTION_MASK_WRITE)) == 0)
        return false;
    unsigned size = d->inst.memory.bits / 8u;
    if (size >= 8)
        size = 8;
    else if (size == 0 || (size & (size - 1)) != 0) /* such as 6: far pointer, descriptor */
        return false;
    *i = (struct values_item){.source = (uint8_t)source, .size = (uint8_t)size};
    return true;
}

static bool operand_item(const struct vp_decoded *d, unsigned n, unsigned lane,
                         struct values_item *i)
{
    if (n >= d->inst.operand_count)
        return false;
    const trace_operand_t *t = &d->inst.operands[n];
    if (t->type == TRACE_OPERAND_MEMORY)
        return lane == 0 && memory_item(d, t->is_written ? VALUES_STORED : VALUES_LOADED, i);
    if (t->type != TRACE_OPERAND_REGISTER || t->value == 0)
        return false;
    if (lane != 0) {
        bool has_lane = TRACE_KIND(t->value) == TRACE_KIND_VECTOR && lane < t->bits / 64u;
        return has_lane && register_item(t->value + lane, 64, 0, i);
    }
    return register_item(t->value, t->captured_bits, t->shift, i);
}

static bool address_item(const struct vp_decoded *d, unsigned element, struct values_item *i)
{
    if (d->memory < 0 || element >= d->inst.memory.elements)
        return false;
    *i = (struct values_item){.source = VALUES_ADDRESS, .lane = (uint8_t)element, .size = 8};
    return true;
}

static bool find_item(const struct vp_decoded *d, trace_value_t v, struct values_item *i)
{
    switch (TRACE_KIND(v)) {
    case TRACE_KIND_GENERAL:
    case TRACE_KIND_VECTOR:
    case TRACE_KIND_MASK:
    case TRACE_KIND_X87: return register_item(v, 64, 0, i);
    case TRACE_KIND_OPERAND: return operand_item(d, TRACE_INDEX(v), TRACE_LANE(v), i);
    case TRACE_KIND_DESTINATION:
        return d->inst.destination != 0 &&
               register_item(d->inst.destination, d->inst.destination_bits,
                             d->inst.destination_shift, i);
    case TRACE_KIND_ADDRESS: return address_item(d, TRACE_LANE(v), i);
    case TRACE_KIND_LOADED: return memory_item(d, VALUES_LOADED, i);
    case TRACE_KIND_STORED: return memory_item(d, VALUES_STORED, i);
    default: return false;
    }
}

void vp_answer_items(const struct vp_spec *s, const struct vp_decoded *d, struct values_answer *a)
{
    const struct vp_list *l = &s->of[d->inst.opc][d->inst.func];
    a->is_selected = l->is_recorded;
    for (unsigned n = 0; n < l->count; n++) {
        struct values_item *i = &a->items[a->item_count];
        if (!find_item(d, l->values[n], i))
            continue;
        a->item_count++;
        a->uses_vectors |=
            i->source == VALUES_VECTOR || i->source == VALUES_MASK || i->source == VALUES_X87;
    }
}
