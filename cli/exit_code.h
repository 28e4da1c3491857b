/* Exit codes of the program. docs/report.md and the help name the same numbers. */
#pragma once

enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_FAILED = 1, /* cannot read, parse or write */
    EXIT_CODE_USAGE = 2,  /* the command line asks for something that does not exist */
    EXIT_CODE_BROKEN = 3, /* a rule of a check is broken, or cannot be trusted */
    /* a batch is done, but for some of its files or some outputs that the index links to */
    EXIT_CODE_PARTLY = 4,
};
