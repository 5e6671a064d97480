/* pointwise.h: the losses of an input x against a target y, element by element, a row each
 * (tables/unary.h says how to read it; ops/loss/pointwise.c has the formulas).
 *
 *   op           its hd_pointwise
 *   kernel       huber: huber_f32, huber_f64, huber_slope_f32 and huber_slope_f64, made in
 *                isa/pointwise_body.h of huber_value, huber_by_x and huber_by_y
 *   name         in heed.core
 *   public_name  in heed.loss (lua/heed/loss.lua) and in messages
 *   batchmean    is this reduction one of its own?
 */
/* clang-format off */
/*     op                     kernel    name               public_name        batchmean */
HD_ROW(HD_POINTWISE_SQUARED,  squared,  "mse_loss",        "mse_loss",        false)
HD_ROW(HD_POINTWISE_ABSOLUTE, absolute, "l1_loss",         "l1_loss",         false)
HD_ROW(HD_POINTWISE_HUBER,    huber,    "huber_loss",      "huber_loss",      false)
HD_ROW(HD_POINTWISE_BCE,      bce,      "bce_with_logits", "bce_with_logits", false)
HD_ROW(HD_POINTWISE_KL,       kl,       "kl_div",          "kl_div",          true)
HD_ROW(HD_POINTWISE_KL_LOG,   kl_log,   "kl_div_log",      "kl_div",          true)
/* clang-format on */
#undef HD_ROW
