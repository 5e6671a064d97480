/* forms.h: Unicode's normal forms (UAX 15), with the origin of every character. */
#ifndef HD_FORMS_H
#define HD_FORMS_H

#include "text/text.h"

/* NFD; NFC when composed, NFKD when compatible, NFKC when both. Appended to out. */
hd_status hd_normal_form(hd_ctx *cx, bool composed, bool compatible, const hd_text *text, hd_text *out);

#endif
