--- What a config leaves out, when a model is made of it alone.

local families = require "heed.models.families"
local heed = require "heed"
require "heed.luassert"

describe("a model of a config alone", function()
    for name, class in pairs(families.classes) do
        it("wants a table: " .. name, function()
            assert.error_matches(function() class "config.json" end,
                "heed%.models%." .. name .. ": config: expected a table")
        end)
    end

    it("has what files of its family leave out", function()
        local config = { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
            num_attention_heads = 2, intermediate_size = 16, max_position_embeddings = 10 }
        local model = heed.models.Bert(config)
        assert.are.equal(1e-12, model.norm.eps)
        assert.are.same({ 2, 8 }, { model.types.weight:size() })
        assert.is_nil(config.hidden_act) -- the caller's table stays as it was
        config.type_vocab_size = 1
        assert.are.same({ 1, 8 }, { heed.models.Bert(config).types.weight:size() })
    end)

    it("knows the activations of files: Whisper's too", function()
        local config = { vocab_size = 20, num_mel_bins = 8, d_model = 8, encoder_layers = 1,
            decoder_layers = 1, encoder_attention_heads = 2, decoder_attention_heads = 2,
            encoder_ffn_dim = 16, decoder_ffn_dim = 16, max_source_positions = 10,
            max_target_positions = 12, activation_function = "gelu_new" }
        local model = heed.models.Whisper(config)
        assert.are.equal("gelu_tanh", model.encoder.layers[1].activation)
    end)
end)
