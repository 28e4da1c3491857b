/* Functions that a pickle may name: a few harmless ones. Nothing is ever called. */
#include "parser/pickle/pickle_machine.h"

#include <string.h>

static bool function_push(struct machine *machine, const char *opcode, const char *module, const char *name) {
    static const struct {
        const char *module, *name;
        enum function function;
    } known[] = {
        /* The C++ pickler wraps typed containers in these: each returns its first argument. */
        {"torch.jit._pickle", "restore_type_tag", FUNCTION_FIRST_ARGUMENT},
        {"torch.jit._pickle", "build_intlist", FUNCTION_FIRST_ARGUMENT},
        {"torch.jit._pickle", "build_doublelist", FUNCTION_FIRST_ARGUMENT},
        {"torch.jit._pickle", "build_boollist", FUNCTION_FIRST_ARGUMENT},
        {"torch.jit._pickle", "build_tensorlist", FUNCTION_FIRST_ARGUMENT},
        {"collections", "OrderedDict", FUNCTION_ORDERED_DICT},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(module, known[i].module) == 0 && strcmp(name, known[i].name) == 0)
            return machine_push_bits(machine, VALUE_FUNCTION, known[i].function);
    return cursor_fail(machine->cursor, READ_FORBIDDEN, machine->opcode_offset,
                       "%s %s.%s is refused: it would run code", opcode, module, name);
}

/* Names go into an error message: cut and made printable. */
static void name_clean(char *to, size_t capacity, const uint8_t *from, size_t nbytes) {
    size_t n = nbytes < capacity - 1 ? nbytes : capacity - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] >= 0x20 && from[i] < 0x7F ? (char)from[i] : '?';
    to[n] = '\0';
}

bool op_global(struct machine *machine) {
    const uint8_t *line;
    size_t nbytes;
    char module[48], name[48];
    if (!cursor_line(machine->cursor, 4096, &line, &nbytes))
        return false;
    name_clean(module, sizeof module, line, nbytes);
    if (!cursor_line(machine->cursor, 4096, &line, &nbytes))
        return false;
    name_clean(name, sizeof name, line, nbytes);
    return function_push(machine, "GLOBAL", module, name);
}

bool op_stack_global(struct machine *machine) {
    char text[2][48];
    if (!machine_has(machine, 2))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const struct value *value = &machine->stack[machine->n_stack - 2 + i];
        struct text name = value->tag == VALUE_STRING
                               ? trace_text(machine->snapshot.trace, (uint32_t)value->bits)
                               : word_text("");
        name_clean(text[i], sizeof text[i], name.at, name.nbytes);
    }
    machine->n_stack -= 2;
    return function_push(machine, "STACK_GLOBAL", text[0], text[1]);
}

bool op_reduce(struct machine *machine) {
    if (!machine_has(machine, 2))
        return false;
    struct value *function = &machine->stack[machine->n_stack - 2], *arguments = function + 1;
    if (function->tag != VALUE_FUNCTION)
        return machine_fail(machine, READ_FORBIDDEN, "REDUCE is refused: it would call code");
    if (function->bits == FUNCTION_FIRST_ARGUMENT)
        return machine_fail(machine, READ_BAD_STACK, "REDUCE finds no arguments");
    struct value result =
        function->bits == FUNCTION_APPLIED ? *arguments : (struct value){.tag = VALUE_NEW_DICT};
    machine->n_stack -= 2;
    return machine_push(machine, result) && event_pass_on(machine);
}

/* Opcodes that call code or need data from outside; NULL: not one of them. */
static const char *forbidden_name(uint8_t opcode) {
    switch (opcode) {
    case 'P': return "PERSID";
    case 'Q': return "BINPERSID";
    case 'b': return "BUILD";
    case 'i': return "INST";
    case 'o': return "OBJ";
    case 0x81: return "NEWOBJ";
    case 0x82: return "EXT1";
    case 0x83: return "EXT2";
    case 0x84: return "EXT4";
    case 0x92: return "NEWOBJ_EX";
    case 0x97: return "NEXT_BUFFER";
    case 0x98: return "READONLY_BUFFER";
    default: return NULL;
    }
}

bool op_other(struct machine *machine, uint8_t opcode) {
    const char *name = forbidden_name(opcode);
    if (name != NULL)
        return cursor_fail(machine->cursor, READ_FORBIDDEN, machine->opcode_offset,
                           "%s is refused: it would run code or needs data from outside", name);
    return cursor_fail(machine->cursor, READ_BAD_OPCODE, machine->opcode_offset,
                       "0x%02x is not a pickle opcode", opcode);
}
