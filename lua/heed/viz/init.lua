--- heed.viz: pictures.

return {
    attention = require "heed.viz.attention",
}
