--- What others call things: PyTorch and its relatives (docs/from_pytorch.md), and people who ask.

local NAMES = [[
heed.audio.log_mel  log_mel_spectrogram melspectrogram WhisperFeatureExtractor
heed.audio.mel_filters  mel_filter_bank
heed.audio.save  write_wav
heed.audio.transcribe  speech recognition subtitles asr
heed.audio.wav  load_audio torchaudio soundfile librosa mp3 flac
heed.backward  autograd backpropagation
heed.bytes  numpy tobytes
heed.dim  ndim rank
heed.item  scalar
heed.numel  nelement count elements
heed.requires_grad_  trainable freeze
heed.rfft  fft fourier
heed.select  index slice
heed.size  shape len length
heed.stft  spectrogram short_time fourier
heed.to  double long half type_as astype cast convert float32 float64 int64 bfloat16 float16
heed.totable  tolist numpy list
heed.amax  max
heed.attention  scaled_dot_product_attention sdpa flash is_causal enable_gqa
heed.bincount  bag of words counts histogram histc
heed.capture  need_weights average_attn_weights hook hooks register_forward_hook activations inspect ablation
heed.cat  concat concatenate hstack vstack
heed.checkpoint  torch.save torch.load resume checkpoint
heed.checkpoint.load  torch.load resume load model checkpoint
heed.checkpoint.save  torch.save save model checkpoint
heed.clamp  clip
heed.data.batches  DataLoader Dataset TensorDataset loader collate collate_fn minibatch shuffle sampler
heed.data.csv  read_csv pandas DictReader spreadsheet table
heed.data.jsonl  load_dataset json lines datasets
heed.data.pad  pad_sequence collate
heed.data.tokens  memmap nanogpt get_batch train.bin
heed.detect_anomaly  set_detect_anomaly nan debug
heed.expand  broadcast_to expand_as
heed.flip  reverse
heed.func  autograd.Function custom gradient
heed.gather  take_along_dim index_select
heed.generate  sampling decode greedy beam search
heed.generator  Generator random seed
heed.gguf.open  GGUFReader llama.cpp quantized dequantize
heed.gguf.save  GGUFWriter llama.cpp quantize
heed.grad  autograd.grad jacobian
heed.gradcheck  autograd.gradcheck numerical finite differences
heed.image.load  decode_image read_image imread PIL torchvision
heed.image.save  write_png imwrite
heed.json.decode  loads parse
heed.json.encode  dumps stringify
heed.loss.bce_with_logits  binary_cross_entropy_with_logits BCEWithLogitsLoss
heed.loss.cross_entropy  CrossEntropyLoss
heed.loss.kl_div  KLDivLoss kullback leibler
heed.loss.l1_loss  L1Loss mae absolute error
heed.loss.mse_loss  MSELoss squared error regression
heed.loss.nll_loss  NLLLoss negative log likelihood
heed.manual_seed  seed random reproducible
heed.mask.causal  is_causal triangular autoregressive subsequent
heed.mask.padding  src_key_padding_mask key_padding_mask attention_mask
heed.matmul  mm bmm dot product mv
heed.memory_limit  out of memory
heed.metrics  torchmetrics sklearn
heed.metrics.bleu  sacrebleu
heed.metrics.confusion  confusion_matrix
heed.metrics.mae  mean absolute error
heed.metrics.precision_recall_f1  f1_score classification_report
heed.metrics.roc_auc  roc_auc_score auroc
heed.models.load  from_pretrained AutoModel transformers hugging face
heed.models.save  save_pretrained push_to_hub hugging face
heed.nn.BatchNorm1d  batch normalization
heed.nn.Dropout  regularization
heed.nn.Embedding  EmbeddingBag bag word vectors lookup weight tying tied weights
heed.nn.Flatten  reshape
heed.nn.GRU  recurrent rnn pack_padded_sequence pad_packed_sequence
heed.nn.LSTM  recurrent rnn pack_padded_sequence pad_packed_sequence
heed.nn.LayerNorm  layer normalization
heed.nn.Linear  dense fully connected weight tying tied weights
heed.nn.Module  class model extend forward weight tying tied shared weights
heed.nn.Module:apply  initialize weights
heed.nn.Module:buffer  register_buffer
heed.nn.Module:eval  evaluation inference mode
heed.nn.Module:load_state_dict  load weights pretrained
heed.nn.Module:named_children  ModuleDict items
heed.nn.Module:named_parameters  parameters freeze
heed.nn.Module:parameters  count parameters
heed.nn.Module:state_dict  save weights
heed.nn.Module:train  training mode
heed.nn.ModuleDict  items
heed.nn.ModuleList  list of layers
heed.nn.MultiHeadAttention  MultiheadAttention self attention need_weights average_attn_weights
heed.nn.parameter  Parameter weight
heed.no_grad  with inference_mode set_grad_enabled
heed.npy.load  np.load numpy
heed.npy.save  np.save numpy
heed.npz.load  np.load numpy
heed.npz.save  savez savez_compressed numpy
heed.on_interrupt  KeyboardInterrupt try except ctrl c signal
heed.optim  optimizer
heed.optim.AdamW  optimizer param_groups
heed.optim.EMA  exponential moving average AveragedModel swa polyak
heed.optim.EarlyStopping  early stopping patience
heed.optim.SGD  optimizer momentum stochastic gradient descent
heed.optim.clip_grad_norm  gradient clipping clip_grad_norm_ exploding
heed.optim.clip_grad_value  gradient clipping clip_grad_value_
heed.optim.scale_grads  gradient accumulation
heed.optim.schedule  lr_scheduler learning rate warmup param_groups
heed.optim.schedule.constant  learning rate warmup LambdaLR ConstantLR
heed.optim.schedule.cosine  learning rate warmup param_groups CosineAnnealingLR OneCycleLR decay
heed.optim.schedule.inverse_sqrt  learning rate warmup decay
heed.optim.schedule.linear  learning rate warmup LinearLR decay
heed.optim.schedule.noam  learning rate warmup transformer
heed.pack_sequences  pack_padded_sequence
heed.permute  transpose axes
heed.progress  tqdm bar
heed.range  arange
heed.recompute  checkpoint gradient activation memory
heed.reshape  view_as
heed.rng_state  get_rng_state set_rng_state
heed.set_num_threads  torch.set_num_threads cores parallel
heed.safetensors.load  load_file pretrained weights
heed.safetensors.save  save_file
heed.text.bpe  vocabulary subword
heed.text.bpe.train  vocabulary build_vocab_from_iterator subword
heed.text.chars  vocabulary build_vocab_from_iterator characters
heed.text.tokenizer  vocabulary AutoTokenizer transformers sentencepiece tiktoken
heed.text.words  vocabulary build_vocab_from_iterator word vocab
heed.tile  repeat
heed.transpose  mT swapaxes
heed.unsqueeze  None newaxis
heed.value_and_grad  grad_and_value
heed.view  reshape view_as
heed.viz.bar  plot barplot
heed.viz.curve  plot savefig matplotlib loss curve
heed.viz.heatmap  imshow matshow confusion matrix
heed.viz.histogram  hist
heed.viz.image  imshow
heed.viz.scatter  plot
]]

-- heed.range to "arange".
local synonyms = {}
for path, names in NAMES:gmatch "(%S+)  ([^\n]+)" do synonyms[path] = names end

return synonyms
