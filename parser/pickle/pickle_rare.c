/* Opcodes that no snapshot needs but a pickle may have: protocol 0's containers, sets, bytes, long integers. */
#include "parser/pickle/pickle_machine.h"

#include <string.h>

/* LIST and DICT of protocol 0: the items come first. Puts a new container before those after the last mark. */
static bool container_insert(struct machine *machine, enum value_tag tag, uint32_t *first) {
    if (!mark_pop(machine, first) || !machine_push_bits(machine, VALUE_NONE, 0))
        return false;
    memmove(machine->stack + *first + 1, machine->stack + *first,
            (machine->n_stack - *first - 1) * sizeof *machine->stack);
    machine->stack[*first] = (struct value){.tag = (uint8_t)tag};
    return true;
}

bool op_list(struct machine *machine) {
    uint32_t first;
    return container_insert(machine, VALUE_NEW_LIST, &first) && list_extend(machine, first, first + 1);
}

bool op_dict(struct machine *machine) {
    uint32_t first;
    return container_insert(machine, VALUE_NEW_DICT, &first) &&
           dict_extend(machine, first, first + 1, machine->n_stack - first - 1 != 0);
}

bool op_drop_to_mark(struct machine *machine, bool keep_opaque) {
    uint32_t first;
    if (!mark_pop(machine, &first))
        return false;
    machine->n_stack = first;
    return !keep_opaque || machine_push_bits(machine, VALUE_OPAQUE, 0);
}

bool op_pop(struct machine *machine) {
    if (machine->n_marks != 0 && machine->mark[machine->n_marks - 1] == machine->n_stack) {
        machine->n_marks--;
        return true;
    }
    if (!machine_has(machine, 1))
        return false;
    machine->n_stack--;
    return true;
}

/* ADDITEMS: sets hold nothing of use. */
bool op_additems(struct machine *machine) {
    uint32_t first;
    if (!mark_pop(machine, &first))
        return false;
    machine->n_stack = first;
    return machine_has(machine, 1);
}

bool op_long4(struct machine *machine) {
    int32_t nbytes = (int32_t)cursor_uint(machine->cursor, 4);
    if (nbytes < 0)
        return machine_fail(machine, READ_BAD_LENGTH, "an integer has a negative length");
    return machine->cursor->error->code == READ_OK && long_push(machine, (uint64_t)nbytes);
}

bool op_proto(struct machine *machine) {
    uint32_t protocol = cursor_u8(machine->cursor);
    if (protocol > 5)
        return cursor_fail(machine->cursor, READ_BAD_VALUE, machine->opcode_offset,
                           "pickle protocol %u is newer than 5, the newest there is", protocol);
    return true;
}

bool op_dup(struct machine *machine) {
    return machine_has(machine, 1) && machine_push(machine, machine->stack[machine->n_stack - 1]);
}

bool op_stop(struct machine *machine) {
    machine->stopped = true;
    return machine_has(machine, 1);
}
