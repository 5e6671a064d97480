--- heed.viz: pictures.

return {
    attention = require "heed.viz.attention",
    curve = require "heed.viz.curve",
}
