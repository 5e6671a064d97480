--- Pictures, in the terminal and as SVG, HTML and PNG.

return {
    attention = require "heed.viz.attention",
    bar = require "heed.viz.bar",
    curve = require "heed.viz.curve",
    heatmap = require "heed.viz.heatmap",
    histogram = require "heed.viz.histogram",
    image = require "heed.viz.image",
    scatter = require "heed.viz.scatter",
}
