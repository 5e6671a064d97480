/* anomaly.h: backward's search for the operation whose gradient first has NaN. */
#ifndef HD_ANOMALY_H
#define HD_ANOMALY_H

#include "autograd/graph.h"

/* HD_EARG, with the operation and where it was made, when what has arrived for the node's outputs has NaN; */
hd_status hd_anomaly_in_arrivals(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, const hd_node *node);
/* or the gradients that it gives its inputs. */
hd_status hd_anomaly_in_results(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, const hd_node *node,
                                hd_tensor *const *gradients);

#endif
