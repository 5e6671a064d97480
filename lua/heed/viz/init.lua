--- Pictures, in the terminal and as SVG and HTML.

return {
    attention = require "heed.viz.attention",
    curve = require "heed.viz.curve",
}
