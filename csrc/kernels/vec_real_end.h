/* vec_real_end.h: takes back what vec_real.h defined for one element type. */
#undef real
#undef vr
#undef vmask
#undef LANES
#undef V
#undef NAME
#undef HD_REAL
