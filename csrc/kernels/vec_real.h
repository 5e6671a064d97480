/* vec_real.h: lets one body serve f32 and f64. A source defines HD_REAL as 32 or 64 and includes the body,
 * which includes this: `real` is the element, `vr` its vector, `vmask` its mask, V(load) is vf_load or
 * vd_load, NAME(x) is x_f32 or x_f64. The body ends with vec_real_end.h.
 */
#if HD_REAL == 32
#define real float
#define vr vf
#define vmask vfm
#define LANES VF_LANES
#define V(op) vf_##op
#define NAME(x) x##_f32
#else
#define real double
#define vr vd
#define vmask vdm
#define LANES VD_LANES
#define V(op) vd_##op
#define NAME(x) x##_f64
#endif
