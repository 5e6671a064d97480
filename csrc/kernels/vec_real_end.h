#undef real
#undef vr
#undef vmask
#undef LANES
#undef V
#undef NAME
#undef HD_REAL
