/* team.h: threads that help the caller with a loop, when they come in time.
 *
 * The caller never waits for a helper that has not begun: it opens the job, works on it itself, closes it,
 * and waits for those alone that are inside. On a machine whose other cores are busy a loop then costs
 * little more than the caller's own work; a pool that gathers all of its threads at every loop stands still
 * until the kernel has run each of them.
 */
#ifndef HD_TEAM_H
#define HD_TEAM_H

typedef struct hd_team hd_team;

/* helper: 1 .. helpers. Takes part until there is nothing left to take. */
typedef void (*hd_job)(void *arg, int helper);

/* So many threads beside the caller's, all signals blocked in them. NULL when not one could be had; fewer
 * than asked for when the system refuses some. */
hd_team *hd_team_start(int helpers);
/* Joins them. Not in a forked child, where they do not exist. */
void hd_team_stop(hd_team *team);

/* job(arg, 0) by the caller, and job(arg, h) by each helper that comes before the caller's part is done.
 * Returns when all of them are. spin: helpers wait busily for the next job for a while, which makes it
 * cheap, and takes their cores from others for that while. */
void hd_team_run(hd_team *team, hd_job job, void *arg, int spin);

#endif
