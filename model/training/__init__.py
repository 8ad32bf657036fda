"""How the zoo's models are trained: `chumoku train`. The app imports nothing from here.

Each family has a task (`task.py`): windows of documents, pairs of sentences, labelled phrases, or passages with gaps.
The trainer only sees batches, logits and a metric. A document is held out by its own hash, so the split never changes
(only those that share no run of 20 words with training text are used for evaluation); a pair is held out by its
source, with all its translations, in every file of a translator; no phrase of a held-out sentence is trained on.

A masked language model (`masked_lm.py`) predicts a share of the tokens (`gap_share`) by BERT's rule. `--warm-start`
makes a classifier of it, with a new head and everything else copied, or continues pre-training from a classifier.
sentiment-encoder was trained this way; its card lists the data of the first training, with licences (`pretraining`).
With `--revive`, a warm start gives FFN units that its card calls dead random inputs and outputs of 0: ReLU passes
them no gradient. The weights that ship are an average: a moving one, or one of the last checkpoints; the card has its
figure and that of the last step alone (`averaging`). Label smoothing puts ε/K on all classes (`smoothing_form="all"`)
or ε/(K−1) on the others.

The state of a run is one file, written to a temporary file, synced and renamed; the previous one stays as
`state.before.safetensors`. After a kill at any moment, the same command resumes (and with `--steps` reaches the same
weights, bit for bit); if the state is damaged, from the previous one. With a full disk, the run says so and
waits.

With `--snapshots N` a run keeps its parameters (of one step, not the average; float16) at step 0, at its end, and
between them at steps that grow by a constant factor from 1 % of the run on. They end up in the model's folder as
`snapshots/STEP.safetensors`, and on its card with the loss, the held-out figure and the gradients of each sublayer at
that step. Taking them changes nothing in the run. `checkpoint.load(folder, step=140)` opens one; by name it is
`name@140`.

A card has which FFN units never fire and which always do on up to 200 held-out texts (`units`), of a decoder the loss
over lengths beyond those of the training (`lengths`, where held-out documents have 1,025 tokens), of models trained
alike the time of a training step (`speed`) and what other seeds reached (`seeds`), and of one that began with
another's weights a line for each training that they went through (`stages`). Two things are written by hand: `note`,
and `tried`, the trainings that are not in the weights: `{"what": {"en", "ja"}, "tokens"?, "minutes"?, "held_out":
{figure: value}}` each. A stage that is not a training, such as an average, may also have a `what`.
"""
