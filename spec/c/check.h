/* check.h: what the C tests count with. A test program ends in `return checks_done();`. */
#ifndef HD_CHECK_H
#define HD_CHECK_H

#include <stdio.h>
#include <stdlib.h>

static int checks_passed;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: in %s: not so: %s\n", __FILE__, __LINE__, __func__, #condition);                  \
            exit(1);                                                                                         \
        }                                                                                                    \
        checks_passed++;                                                                                     \
    } while (0)

static int checks_done(void) {
    printf("ok %d\n", checks_passed);
    return 0;
}

#endif
