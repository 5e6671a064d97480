/* vec_real.h: lets one body (isa/..._body.h) serve f32 and f64. A source defines HD_REAL as 32 or 64 and
 * includes the body. The body includes this header first and vec_real_end.h last. In between:
 *
 *     real       float or double              vr      its vector, vf or vd
 *     LANES      elements of a vector         vmask   its mask, vfm or vdm
 *     V(load)    vf_load or vd_load: the functions of vec.h and vec_math.h
 *     NAME(x)    x_f32 or x_f64: what the body defines. softmax_f32 is NAME(softmax) in softmax_body.h
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
