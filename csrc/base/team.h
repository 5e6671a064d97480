/* team.h: threads that help the caller with a loop, if they come in time.
 *
 * The caller opens a job, works on it, closes it, and waits only for the helpers that are inside. It never
 * waits for a helper that has not begun. If the other cores are busy, a loop thus costs little more than the
 * caller's own work. A pool that gathers all of its threads at every loop stands still until the kernel has
 * run each of them.
 */
#ifndef HD_TEAM_H
#define HD_TEAM_H

typedef struct hd_team hd_team;

/* A job takes tasks from a common store (parallel.c) until none is left. helper: 0 for the caller, 1 ..
 * helpers. */
typedef void (*hd_job)(void *arg, int helper);

/* Starts `helpers` threads, with all signals blocked in them. Fewer if the system refuses some; NULL if
 * it refuses all. */
hd_team *hd_team_start(int helpers);
/* Joins the threads. Must not be called in a forked child, where they do not exist. */
void hd_team_stop(hd_team *team);

/* Runs job(arg, 0) in the caller and job(arg, h) in each helper that comes before the caller is done. Returns
 * when all of these have returned. One caller at a time. spin: afterwards helpers wait busily for a while, so
 * that the next job starts at once; during this time they take their cores from other threads. */
void hd_team_run(hd_team *team, hd_job job, void *arg, int spin);

#endif
