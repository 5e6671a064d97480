--- Vocabularies, and a score for translations.

return {
    bleu = require "heed.text.bleu",
    bpe = require "heed.text.bpe",
    chars = require "heed.text.chars",
    tokenizer = require "heed.text.tokenizer",
    words = require "heed.text.words",
}
