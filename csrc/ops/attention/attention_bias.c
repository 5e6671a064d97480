/* attention_bias.c: which tasks of backward may not run at the same time, because they add to one gradient of a bias. */
#include "ops/attention/attention_bias.h"

enum { SEQUENCE, KEY_HEAD, SPLIT, AXES };

typedef struct rounds {
    hd_task task;
    void *arg;
    int64_t size[AXES], at[AXES];
    bool waits[AXES]; /* tasks that differ in it run one after the other */
} rounds;

static void find_waits(const hd_attention_task *a, bool waits[AXES]) {
    const int64_t *stride = a->dbias.stride;
    const bool wanted = a->dbias.data != NULL;
    /* Packed sequences have queries and keys of their own; others are entries of the batch. */
    waits[SEQUENCE] = wanted && (a->q_starts ? stride[2] == 0 && stride[3] == 0 : stride[0] == 0);
    waits[KEY_HEAD] = wanted && stride[1] == 0;
    waits[SPLIT] = wanted && stride[3] == 0;
}

int64_t hd_bias_pairs(const hd_attention_task *a) {
    bool waits[AXES];
    find_waits(a, waits);
    return (waits[SEQUENCE] ? 1 : a->sequences) * (waits[KEY_HEAD] ? 1 : a->Hk);
}

/* Task i of those that run at the same time. */
static void run(void *arg, int64_t i, int worker) {
    const rounds *r = arg;
    int64_t at[AXES], task = 0;
    for (int d = AXES - 1; d >= 0; d--) {
        const int64_t size = r->waits[d] ? 1 : r->size[d];
        at[d] = r->waits[d] ? r->at[d] : i % size;
        i /= size;
    }
    for (int d = 0; d < AXES; d++) task = task * r->size[d] + at[d];
    r->task(r->arg, task, worker);
}

/* On to the next of the tasks that wait; false after the last. */
static bool next_round(rounds *r) {
    for (int d = AXES - 1; d >= 0; d--) {
        if (!r->waits[d]) continue;
        if (++r->at[d] < r->size[d]) return true;
        r->at[d] = 0;
    }
    return false;
}

hd_status hd_bias_parallel(hd_ctx *cx, const hd_attention_task *a, int64_t splits, hd_task task, void *arg) {
    rounds r = {.task = task, .arg = arg, .size = {a->sequences, a->Hk, splits}};
    int64_t at_once = 1;
    hd_status status;
    find_waits(a, r.waits);
    for (int d = 0; d < AXES; d++) {
        if (r.size[d] == 0) return HD_OK;
        at_once *= r.waits[d] ? 1 : r.size[d];
    }
    do status = hd_parallel(cx, at_once, run, &r);
    while (!status && next_round(&r));
    return status;
}
