"""How the zoo's models are trained: `chumoku train`. The app imports nothing from here.

Each family has a task (`task.py`): windows of documents, pairs of sentences, labelled phrases, or passages with gaps.
The trainer only sees batches, logits and a metric. Held-out data never changes: a document is held out by the hash of
its text, a pair by its source, with all its translations in every file of a translator. Evaluation uses only held-out
documents that share no run of 20 words with training text, and no phrase of a held-out sentence is trained on.

A masked language model (`masked_lm.py`) predicts a share of the tokens (`gap_share`) by BERT's rule. `--warm-start`
makes a classifier of it, with a new head and everything else copied, or continues pre-training from a classifier.
sentiment-encoder was trained this way; its card lists the data of the first training, with licences (`pretraining`).
With `--revive`, a warm start gives the FFN units that the card calls dead, which get no gradient through ReLU, random
inputs and outputs of 0. The weights that ship are an average, either moving or of the last checkpoints; the card has
its figure and that of the last step alone (`averaging`). Label smoothing puts ε/K on all classes
(`smoothing_form="all"`) or ε/(K−1) on the wrong ones.

The state of a run is one file, written to a temporary file, synced and renamed; the previous one stays as
`state.before.safetensors`. After a kill at any moment, the same command resumes, and with `--steps` reaches the same
weights bit for bit. If the state is damaged, it resumes from the previous one. If the disk is full, the run says so and
waits.

With `--snapshots N` a run keeps its parameters (of one step, not the average; float16) at step 0, at its end, and
between them at steps that grow by a constant factor, starting at 1 % of the run. They are saved in the model's folder
as `snapshots/STEP.safetensors`, and the card lists them with the loss, the held-out figure and the gradients of each
sublayer at that step. Taking them does not change the run. `checkpoint.load(folder, step=140)` opens one; its name is
`name@140`.

A card says which FFN units never fire and which always fire on up to 200 held-out texts (`units`). A decoder's card
has the loss at lengths beyond those of the training, if held-out documents have 1,025 tokens (`lengths`). Cards of
models that are compared have the time of a training step (`speed`) and the figures of other seeds (`seeds`). The card
of a model that started from another's weights has a line for each training of these weights (`stages`). Two things are
written by hand: `note`, and `tried`, the trainings that are not in the weights, each as
`{"what": {"en", "ja"}, "tokens"?, "minutes"?, "held_out": {figure: value}}`. A stage that is not a training, such as an
average, may also have a `what`.
"""
