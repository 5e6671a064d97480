/* channel_norm.c: norms of channels, x [N, C, ...]:
 *
 *     batch norm (Ioffe & Szegedy 2015):  mean and variance of each channel over the batch and its planes
 *     group norm (Wu & He 2018):          of each entry, over the channels of a group and their planes
 *     y = (x - mean) rstd w + b,  rstd = 1 / sqrt(variance + eps);  w and b by channel
 *
 * With z = (x - mean) rstd and h = g w, means over what was normalized together:
 *
 *     dx = rstd (h - mean(h) - z mean(h z)),  dw = sum of g z,  db = sum of g
 *
 * Where batch norm takes running statistics, they are constants: dx = rstd h.
 *
 * A run is a plane of one channel of one entry; a set is what is normalized together. Backward makes two sums
 * of each run, then adds those of sets and of channels, in order.
 */
#include "base/parallel.h"
#include "ops/gradient.h"
#include "ops/nn/rows.h"

#include <float.h>
#include <math.h>

enum { IN_X, IN_W, IN_B, INPUTS };
enum { SAVED_X, SAVED_W, SAVED_STATS, SAVED };
/* Elements that make a task. */
#define ELEMENTS 32768

typedef struct norm {
    int64_t entries, channels, plane;
    int64_t groups; /* 0: batch norm */
    bool constant;  /* statistics do not depend on x */
} norm;

typedef struct pass {
    norm n;
    const hd_kernels *kernels;
    hd_dtype dtype;
    size_t size;
    double eps;
    const char *x, *w, *b, *g; /* w, b may be NULL */
    char *y, *dx;
    char *stats;      /* [sets, 2]: mean and rstd, of x's dtype */
    double *variance; /* of each set; NULL: not wanted */
    double *sums;     /* [entries, channels, 2]: of g, of g z */
    double *means;    /* [sets, 2]: of h, of h z */
} pass;

static double element(hd_dtype dtype, const void *data, int64_t i) {
    return dtype == HD_F64 ? ((const double *)data)[i] : ((const float *)data)[i];
}

static void set_element(hd_dtype dtype, void *data, int64_t i, double value) {
    if (dtype == HD_F64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

static int64_t set_count(const norm *n) {
    return n->groups ? n->entries * n->groups : n->channels;
}

static int64_t set_of(const norm *n, int64_t run) {
    const int64_t channel = run % n->channels;
    return n->groups ? run / n->channels * n->groups + channel / (n->channels / n->groups) : channel;
}

/* ---- statistics ------------------------------------------------------------------------------------ */

/* A set: `count` runs of `length` elements, `step` elements apart. */
typedef struct set_runs {
    const char *first;
    int64_t count, length, step;
} set_runs;

static set_runs runs_of(const pass *p, int64_t set) {
    const norm *n = &p->n;
    const int64_t width = n->groups ? n->channels / n->groups * n->plane : n->plane;
    const char *first = p->x + (size_t)(set * width) * p->size;
    return n->groups ? (set_runs){first, 1, width, 0}
                     : (set_runs){first, n->entries, width, n->channels * width};
}

static const void *run_at(const pass *p, const set_runs *s, int64_t i) {
    return s->first + (size_t)(i * s->step) * p->size;
}

typedef struct moments {
    double mean, variance, rstd;
} moments;

/* For numbers whose squares leave the range: of x by a power of two that rounds nothing. */
static moments scaled_moments(const pass *p, const set_runs *s) {
    const hd_channel_norm_kernels *k = p->kernels->channel_norm[p->dtype];
    const double count = (double)(s->count * s->length);
    double most = 0, sums[2] = {0, 0}, squares[2] = {0, 0};
    for (int64_t i = 0; i < s->count; i++) most = fmax(most, k->largest(s->length, run_at(p, s, i)));
    const double scale = most > 0 && most < INFINITY ? ldexp(1, most < 0x1p-1000 ? 1000 : -ilogb(most)) : 1;
    for (int64_t i = 0; i < s->count; i++) k->scaled_sums(s->length, run_at(p, s, i), scale, 0, sums);
    const double middle = sums[0] / count;
    for (int64_t i = 0; i < s->count; i++) k->scaled_sums(s->length, run_at(p, s, i), scale, middle, squares);
    const double variance = squares[1] / count;
    return (moments){middle / scale, variance / scale / scale,
                     scale / sqrt(variance + p->eps * scale * scale)};
}

/* Two passes: sum x² - n mean² would cancel. The second is about the rounded mean (isa/norm_body.h). */
static moments moments_of(const pass *p, const set_runs *s) {
    const hd_channel_norm_kernels *k = p->kernels->channel_norm[p->dtype];
    const double count = (double)(s->count * s->length);
    const double least = p->dtype == HD_F64 ? 0x1p-900 : 0x1p-100,
                 most = p->dtype == HD_F64 ? DBL_MAX : FLT_MAX;
    double sums[2] = {0, 0}, about[2] = {0, 0};
    for (int64_t i = 0; i < s->count; i++) k->sums(s->length, run_at(p, s, i), 0, sums);
    const double mean = p->dtype == HD_F64 ? sums[0] / count : (float)(sums[0] / count);
    for (int64_t i = 0; i < s->count; i++) k->sums(s->length, run_at(p, s, i), mean, about);
    const double rest = about[0] / count, variance = fmax(about[1] / count - rest * rest, 0);
    if (!(about[1] / count + p->eps >= least && about[1] <= most)) return scaled_moments(p, s);
    return (moments){mean + rest, variance, 1 / sqrt(variance + p->eps)};
}

static void make_stats(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pass *p = arg;
    for (int64_t set = first; set < last; set++) {
        const set_runs s = runs_of(p, set);
        const moments m = moments_of(p, &s);
        set_element(p->dtype, p->stats, 2 * set, m.mean);
        set_element(p->dtype, p->stats, 2 * set + 1, m.rstd);
        if (p->variance) p->variance[set] = m.variance;
    }
}

static hd_status each(hd_ctx *cx, pass *p, int64_t count, hd_range_task task) {
    const int64_t all = p->n.entries * p->n.channels * p->n.plane;
    return hd_parallel_ranges(cx, count, count > 0 && all > 0 ? ELEMENTS / (all / count + 1) + 1 : 1, task,
                              p);
}

/* ---- forward ------------------------------------------------------------------------------------------ */

static double of_channel(const pass *p, const char *parameter, int64_t channel, double otherwise) {
    return parameter ? element(p->dtype, parameter, channel) : otherwise;
}

static void normalize_runs(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pass *p = arg;
    for (int64_t run = first; run < last; run++) {
        const int64_t set = set_of(&p->n, run), channel = run % p->n.channels;
        const size_t at = (size_t)(run * p->n.plane) * p->size;
        p->kernels->channel_norm[p->dtype]->norm(p->n.plane, p->x + at, element(p->dtype, p->stats, 2 * set),
                                                 element(p->dtype, p->stats, 2 * set + 1),
                                                 of_channel(p, p->w, channel, 1),
                                                 of_channel(p, p->b, channel, 0), p->y + at);
    }
}

/* ---- backward --------------------------------------------------------------------------------------- */

static void sum_runs(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pass *p = arg;
    for (int64_t run = first; run < last; run++) {
        const int64_t set = set_of(&p->n, run);
        const size_t at = (size_t)(run * p->n.plane) * p->size;
        p->kernels->channel_norm[p->dtype]->grad_sums(
            p->n.plane, p->g + at, p->x + at, element(p->dtype, p->stats, 2 * set),
            element(p->dtype, p->stats, 2 * set + 1), p->sums + 2 * run);
    }
}

/* The means of h and of h z of each set, from the sums of its runs. */
static void mean_sets(const pass *p) {
    const norm *n = &p->n;
    const int64_t runs = n->entries * n->channels, sets = set_count(n);
    for (int64_t run = 0; run < runs; run++) {
        const double w = of_channel(p, p->w, run % n->channels, 1);
        double *mean = p->means + 2 * set_of(n, run);
        mean[0] += w * p->sums[2 * run];
        mean[1] += w * p->sums[2 * run + 1];
    }
    const double count = (double)(runs * n->plane / (sets > 0 ? sets : 1));
    for (int64_t i = 0; i < 2 * sets; i++) p->means[i] = n->constant ? 0 : p->means[i] / count;
}

static void backward_runs(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pass *p = arg;
    for (int64_t run = first; run < last; run++) {
        const int64_t set = set_of(&p->n, run);
        const size_t at = (size_t)(run * p->n.plane) * p->size;
        const double w = of_channel(p, p->w, run % p->n.channels, 1),
                     rstd = element(p->dtype, p->stats, 2 * set + 1);
        if (p->n.constant)
            p->kernels->affine[p->dtype](p->n.plane, w * rstd, 0, p->g + at, 1, p->dx + at, 1);
        else
            p->kernels->channel_norm[p->dtype]->grad(p->n.plane, p->g + at, p->x + at,
                                                     element(p->dtype, p->stats, 2 * set), rstd, w,
                                                     p->means[2 * set], p->means[2 * set + 1], p->dx + at);
    }
}

/* dw (which = 1) or db (0): the sums of each channel's runs. */
static hd_tensor *sum_channels(hd_ctx *cx, const pass *p, int which) {
    hd_tensor *t = hd_tensor_new(cx, p->dtype, 1, &p->n.channels);
    for (int64_t channel = 0; t && channel < p->n.channels && !cx->skipping; channel++) {
        double sum = 0;
        for (int64_t entry = 0; entry < p->n.entries; entry++)
            sum += p->sums[2 * (entry * p->n.channels + channel) + which];
        set_element(p->dtype, hd_data(t), channel, sum);
    }
    return t;
}

static hd_status gradients(hd_ctx *cx, hd_node *node, pass *p, hd_tensor **grad_inputs) {
    const int64_t runs = p->n.entries * p->n.channels, sets = set_count(&p->n);
    p->sums = hd_alloc_zeroed(cx, (size_t)(runs + sets) * 2 * sizeof *p->sums);
    if (!p->sums) return cx->error.status;
    p->means = p->sums + 2 * runs;
    hd_status status = each(cx, p, runs, sum_runs);
    if (!status && hd_node_needs(node, IN_W))
        status = hd_made(cx, grad_inputs[IN_W] = sum_channels(cx, p, 1));
    if (!status && hd_node_needs(node, IN_B))
        status = hd_made(cx, grad_inputs[IN_B] = sum_channels(cx, p, 0));
    if (!status && hd_node_needs(node, IN_X)) {
        const hd_input_meta x = hd_node_input(node, IN_X);
        status = hd_made(cx, grad_inputs[IN_X] = hd_tensor_new(cx, x.dtype, x.ndim, x.shape));
        if (!status) {
            p->dx = hd_data(grad_inputs[IN_X]);
            mean_sets(p);
            status = each(cx, p, runs, backward_runs);
        }
    }
    hd_free(cx->account, p->sums);
    return status;
}

static hd_status norm_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    hd_tensor *x = hd_node_saved(cx, node, SAVED_X), *stats = hd_node_saved(cx, node, SAVED_STATS), *w = NULL;
    if (!x || !stats) return cx->error.status;
    if (node->saved[SAVED_W].tensor && !(w = hd_node_saved(cx, node, SAVED_W))) return cx->error.status;
    hd_tensor *g = hd_contiguous_detached(cx, grads[0]);
    if (!g) return cx->error.status;
    pass p = {.n = *(const norm *)node->params,
              .kernels = cx->kernels,
              .dtype = (hd_dtype)x->dtype,
              .size = hd_dtype_size((hd_dtype)x->dtype),
              .x = hd_data(x),
              .w = w ? hd_data(w) : NULL,
              .g = hd_data(g),
              .stats = hd_data(stats)};
    hd_status status = gradients(cx, node, &p, grad_inputs);
    hd_release(g);
    return status;
}

static const hd_node_class batch_norm_class = {"batch_norm", norm_backward, NULL};
static const hd_node_class group_norm_class = {"group_norm", norm_backward, NULL};

/* ---- the operations ---------------------------------------------------------------------------------- */

static hd_status check(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b) {
    char got[HD_SHAPE_TEXT];
    if (w ? hd_require_dtype_of(cx, "x", x, "weight", w) : hd_require_float(cx, "x", x))
        return cx->error.status;
    if (x->ndim < 2)
        return hd_fail(cx, HD_EARG, "x: expected [B, C, ...], got %s", hd_tensor_shape_text(x, got));
    const int64_t *channels = &x->shape[1];
    if (w && w->ndim == 1 && w->shape[0] != channels[0])
        return hd_fail(cx, HD_EARG, "x: expected %lld channels as weight has, got %s", (long long)w->shape[0],
                       hd_tensor_shape_text(x, got));
    if (w && hd_require_shape(cx, "weight", w, 1, channels)) return cx->error.status;
    if (b &&
        (hd_require_dtype(cx, "bias", b, (hd_dtype)x->dtype) || hd_require_shape(cx, "bias", b, 1, channels)))
        return cx->error.status;
    return HD_OK;
}

static norm norm_of(const hd_tensor *x, int64_t groups) {
    norm n = {.entries = x->shape[0], .channels = x->shape[1], .plane = 1, .groups = groups};
    for (int d = 2; d < x->ndim; d++) n.plane *= x->shape[d];
    return n;
}

/* Normalizes by p->stats, or by statistics of x that it leaves there. */
static hd_tensor *normalize(hd_ctx *cx, const hd_node_class *class, pass *p, hd_tensor *const inputs[INPUTS],
                            hd_tensor *stats) {
    hd_tensor *x = hd_contiguous_detached(cx, inputs[IN_X]), *y = hd_tensor_like(cx, inputs[IN_X]),
              *result = NULL, *w = inputs[IN_W] ? hd_contiguous_detached(cx, inputs[IN_W]) : NULL,
              *b = inputs[IN_B] ? hd_contiguous_detached(cx, inputs[IN_B]) : NULL;
    if (!x || !y || (inputs[IN_W] && !w) || (inputs[IN_B] && !b)) goto done;
    p->kernels = cx->kernels;
    p->x = hd_data(x);
    p->y = hd_data(y);
    p->w = w ? hd_data(w) : NULL;
    p->b = b ? hd_data(b) : NULL;
    p->stats = hd_data(stats);
    if (!p->n.constant && each(cx, p, set_count(&p->n), make_stats)) goto done;
    if (each(cx, p, p->n.entries * p->n.channels, normalize_runs)) goto done;
    hd_tensor *saved[SAVED] = {x, w, stats};
    result = hd_record(cx, class, y, INPUTS, inputs, SAVED, saved, &p->n, sizeof p->n);
    y = NULL;
done:
    hd_release(x);
    hd_release(y);
    hd_release(w);
    hd_release(b);
    return result;
}

hd_tensor *hd_group_norm(hd_ctx *cx, hd_tensor *x, int64_t groups, hd_tensor *w, hd_tensor *b, double eps) {
    if (check(cx, x, w, b)) return NULL;
    if (groups < 1 || x->shape[1] % groups)
        return hd_fail_null(cx, HD_EARG, "num_groups: expected a divisor of the %lld channels of x, got %lld",
                            (long long)x->shape[1], (long long)groups);
    pass p = {.n = norm_of(x, groups),
              .dtype = (hd_dtype)x->dtype,
              .size = hd_dtype_size((hd_dtype)x->dtype),
              .eps = eps};
    const int64_t shape[2] = {set_count(&p.n), 2};
    hd_tensor *stats = hd_tensor_new(cx, p.dtype, 2, shape), *inputs[INPUTS] = {x, w, b};
    hd_tensor *y = stats ? normalize(cx, &group_norm_class, &p, inputs, stats) : NULL;
    hd_release(stats);
    return y;
}

static hd_status check_running(hd_ctx *cx, const char *name, hd_tensor *t, const hd_tensor *x, bool written) {
    if (!t) return HD_OK;
    hd_status status = hd_require_dtype(cx, name, t, (hd_dtype)x->dtype);
    if (!status) status = hd_require_shape(cx, name, t, 1, &x->shape[1]);
    if (!status && written) status = hd_check_inplace(cx, t);
    return status;
}

static hd_status check_batch(hd_ctx *cx, hd_tensor *x, const hd_batch_norm_options *o) {
    char got[HD_SHAPE_TEXT];
    if (!o->running_mean != !o->running_var)
        return hd_fail(cx, HD_EARG, "%s: expected a tensor beside %s, got nil",
                       o->running_mean ? "running_var" : "running_mean",
                       o->running_mean ? "running_mean" : "running_var");
    if (!o->training && !o->running_mean)
        return hd_fail(
            cx, HD_EARG,
            "running_mean: expected a tensor, got nil; without running statistics use training = true");
    if (check_running(cx, "running_mean", o->running_mean, x, o->training) ||
        check_running(cx, "running_var", o->running_var, x, o->training))
        return cx->error.status;
    const norm n = norm_of(x, 0);
    if (o->training && n.entries * n.plane < 2)
        return hd_fail(cx, HD_EARG, "x: expected more than one value of each channel in training, got %s",
                       hd_tensor_shape_text(x, got));
    return HD_OK;
}

/* running = (1 - momentum) running + momentum statistic; the variance without bias. */
static void update_running(const pass *p, const hd_batch_norm_options *o) {
    const norm *n = &p->n;
    const double count = (double)(n->entries * n->plane), keep = 1 - o->momentum;
    for (int64_t c = 0; c < n->channels; c++) {
        const int64_t at_mean = c * o->running_mean->stride[0], at_var = c * o->running_var->stride[0];
        void *mean = hd_data(o->running_mean), *var = hd_data(o->running_var);
        set_element(p->dtype, mean, at_mean,
                    keep * element(p->dtype, mean, at_mean) +
                        o->momentum * element(p->dtype, p->stats, 2 * c));
        set_element(p->dtype, var, at_var,
                    keep * element(p->dtype, var, at_var) +
                        o->momentum * p->variance[c] * (count / (count - 1)));
    }
}

static void take_running(const pass *p, const hd_batch_norm_options *o) {
    for (int64_t c = 0; c < p->n.channels; c++) {
        const double mean = element(p->dtype, hd_data(o->running_mean), c * o->running_mean->stride[0]),
                     var = element(p->dtype, hd_data(o->running_var), c * o->running_var->stride[0]);
        set_element(p->dtype, p->stats, 2 * c, mean);
        set_element(p->dtype, p->stats, 2 * c + 1, 1 / sqrt(var + p->eps));
    }
}

static hd_tensor *batch_norm(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                             const hd_batch_norm_options *o) {
    pass p = {.n = norm_of(x, 0),
              .dtype = (hd_dtype)x->dtype,
              .size = hd_dtype_size((hd_dtype)x->dtype),
              .eps = o->eps};
    p.n.constant = !o->training;
    const bool updates = o->training && o->running_mean;
    const int64_t shape[2] = {p.n.channels, 2};
    hd_tensor *stats = hd_tensor_new(cx, p.dtype, 2, shape), *inputs[INPUTS] = {x, w, b}, *y = NULL;
    if (!stats || (updates && !(p.variance = hd_alloc(cx, (size_t)p.n.channels * sizeof *p.variance))))
        goto done;
    p.stats = hd_data(stats);
    if (p.n.constant && !cx->skipping) take_running(&p, o);
    y = normalize(cx, &batch_norm_class, &p, inputs, stats);
    if (!y || !updates || cx->skipping) goto done;
    update_running(&p, o);
    hd_wrote(o->running_mean);
    hd_wrote(o->running_var);
done:
    hd_free(cx->account, p.variance);
    hd_release(stats);
    return y;
}

/* Planes of fewer elements are no runs that kernels like: channels first, and the batch is the plane. */
#define SMALL_PLANE 16

static hd_tensor *swapped(hd_ctx *cx, hd_tensor *x) {
    hd_tensor *view = hd_transpose(cx, x, 0, 1), *t = view ? hd_contiguous(cx, view) : NULL;
    hd_release(view);
    return t;
}

static hd_tensor *norm_channels_first(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                                      const hd_batch_norm_options *o) {
    hd_tensor *first = swapped(cx, x), *one = NULL, *y = NULL, *apart = NULL, *result = NULL;
    const int64_t shape[3] = {1, x->shape[1], hd_numel(x) / (x->shape[1] > 0 ? x->shape[1] : 1)};
    if (first && (one = hd_view(cx, first, 3, shape)) && (y = batch_norm(cx, one, w, b, o)) &&
        (apart = hd_view(cx, y, first->ndim, first->shape)))
        result = swapped(cx, apart);
    hd_release(first);
    hd_release(one);
    hd_release(y);
    hd_release(apart);
    return result;
}

hd_tensor *hd_batch_norm(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                         const hd_batch_norm_options *o) {
    if (check(cx, x, w, b) || check_batch(cx, x, o)) return NULL;
    const norm n = norm_of(x, 0);
    const bool small = n.plane < SMALL_PLANE && n.entries > 1 && n.plane > 0;
    return small ? norm_channels_first(cx, x, w, b, o) : batch_norm(cx, x, w, b, o);
}
