"""The small wrong patches of `make mutate`: file, what stands there, what to put, what it breaks."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """One wrong patch; `old` stands exactly once in its file."""

    path: str
    old: str
    new: str
    why: str


MUTATIONS = [
    Mutation(
        "errors.py",
        '"\\n".join(f"{section}: {problem}" for problem in problems)',
        '"\\n".join(problems)',
        "problems lose the name of their section",
    ),
    Mutation("errors.py", "tuple(problems)", "tuple(problems[:1])", "only the first problem"),
    Mutation(
        "errors.py",
        "class InputError(RegardError)",
        "class InputError(ConfigError)",
        "a bad line counts as a bad setting",
    ),
    Mutation("errors.py", '"\\n".join', '" ".join', "problems run into each other"),
    Mutation(
        "kernels/reference.py",
        "    return weights.masked_fill(~mask, 0.0)",
        "    return weights",
        "a row with nothing visible is uniform",
    ),
    Mutation(
        "kernels/reference.py",
        "scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)",
        "scores.softmax(dim=-1)",
        "the mask is dropped before the softmax",
    ),
    Mutation(
        "kernels/reference.py",
        "n = torch.tanh(x_n + (r * h) @ U[2 * D :].T)",
        "n = torch.tanh(x_n + r * (h @ U[2 * D :].T))",
        "the reset gate moves behind its product",
    ),
    Mutation(
        "kernels/reference.py",
        "    u = h @ U.T if extra is None else h @ U.T + extra",
        "    u = h @ U.T",
        "Cho's context is lost",
    ),
    Mutation(
        "kernels/reference.py",
        "torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)",
        "torch.sigmoid(i) * c + torch.sigmoid(f) * torch.tanh(g)",
        "input and forget gate change places",
    ),
    Mutation(
        "kernels/reference.py",
        "seen = coverage[..., None] * w",
        "seen = 0 * coverage[..., None] * w",
        "coverage is not seen",
    ),
    Mutation(
        "kernels/library.py",
        "torch.cat([r, -z, n])",
        "torch.cat([r, z, n])",
        "the library keeps where ours renews",
    ),
    Mutation(
        "kernels/library.py",
        "hold = torch.cat([i, -i, rest])",
        "hold = torch.cat([i, i, rest])",
        "padding empties an LSTM's store",
    ),
    Mutation(
        "nn/scores.py",
        "query @ keys.mT * query.shape[-1] ** -0.5",
        "query @ keys.mT / query.shape[-1]",
        "scores are divided by K, not √K",
    ),
    Mutation(
        "nn/scores.py",
        "self.W.weight[:, self.query_size :]",
        "self.W.weight[:, : keys.shape[-1]]",
        "concat gives the keys the queries' columns",
    ),
    Mutation(
        "nn/attention.py",
        "return masked_softmax(scores, mask & inside) * factor",
        "weights = masked_softmax(scores, mask & inside) * factor\n"
        "        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)",
        "the local window is normalized again",
    ),
    Mutation(
        "nn/attention.py",
        "(2 * (self.half_width / 2) ** 2)",
        "(2 * self.half_width**2)",
        "σ is δ, not δ/2",
    ),
    Mutation(
        "nn/attention.py",
        "center = position.to(wide) + 1",
        "center = position.to(wide)",
        "the window lags by one",
    ),
    Mutation(
        "nn/attention.py",
        "center = center * mask.sum(dim=-1, keepdim=True)",
        "center = center * mask.shape[-1]",
        "local-p takes the padded length",
    ),
    Mutation(
        "nn/attention.py",
        "        if visible is not None:\n            mask = mask & visible\n",
        "",
        "the causal mask is dropped",
    ),
    Mutation(
        "nn/attention.py",
        "torch.where(imposed.isnan(), weights, imposed.to(weights.dtype))",
        "weights",
        "imposed weights are ignored",
    ),
    Mutation(
        "nn/attention.py",
        "            context = context + self.relative.values(used)\n",
        "            pass\n",
        "relative values are forgotten",
    ),
    Mutation(
        "nn/positions.py",
        "[even * cos - odd * sin, even * sin + odd * cos]",
        "[even * cos + odd * sin, odd * cos - even * sin]",
        "rotary turns the other way",
    ),
    Mutation(
        "nn/positions.py",
        "distance = keys - queries[:, None]",
        "distance = queries[:, None] - keys",
        "relative distances change their sign",
    ),
    Mutation(
        "nn/masks.py",
        "visible.tril(num_keys - num_queries)",
        "visible.tril(num_keys - num_queries - 1)",
        "a word cannot see itself",
    ),
    Mutation(
        "nn/masks.py",
        "index = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - positions, positions)",
        "index = (mask.shape[1] - 1 - positions).expand_as(mask)",
        "padding is turned round with the line",
    ),
    Mutation(
        "nn/readouts.py",
        "pairs = self.W(x).reshape(*x.shape[:-1], -1, 2)\n        return pairs.amax(dim=-1)",
        "pairs = self.W(x).reshape(*x.shape[:-1], 2, -1)\n        return pairs.amax(dim=-2)",
        "maxout takes halves, not neighbours",
    ),
    Mutation(
        "nn/blocks.py",
        "return x + self.dropout(f(self.norm(x)))",
        "return self.norm(x) + self.dropout(f(self.norm(x)))",
        "pre-norm norms the residual too",
    ),
    Mutation(
        "nn/stack.py",
        "h = torch.cat([h, reverse(back, mask)], dim=-1)",
        "h = torch.cat([h, back], dim=-1)",
        "backward states stay back to front",
    ),
    Mutation(
        "nn/embedding.py",
        "embedded = embedded * (words != BOS)[..., None]",
        "embedded = embedded * 1",
        "Cho's first word is learned",
    ),
    Mutation(
        "encoders/recurrent.py",
        "        h = reverse(h, mask) if self.reversed_source else h\n",
        "",
        "a reversed source is shown backwards",
    ),
    Mutation(
        "encoders/recurrent.py",
        "x = reverse(embedded, mask) if self.reversed_source else embedded",
        "x = embedded",
        "a reversed source is read forwards",
    ),
    Mutation(
        "encoders/convolutional.py",
        "values = (z + embedded)",
        "values = (z + 0 * embedded)",
        "values lose their words",
    ),
    Mutation(
        "encoders/convolutional.py",
        "            z = z.masked_fill(~mask[..., None], 0.0)\n",
        "",
        "convolutions see the padding",
    ),
    Mutation(
        "encoders/summary.py",
        "encoded.last[:, self.output_size :]",
        "encoded.last[:, : self.output_size]",
        "s_0 comes from the forward direction",
    ),
    Mutation(
        "encoders/summary.py",
        "encoded.mask.sum(dim=1, keepdim=True).clamp(min=1)",
        "encoded.mask.shape[1]",
        "the mean counts the padding",
    ),
    Mutation(
        "encoders/transformer.py",
        "self.norm = nn.LayerNorm(model_size) if pre_norm else nn.Identity()",
        "self.norm = nn.Identity()",
        "pre-norm has no norm at the end",
    ),
    Mutation(
        "decoders/bahdanau.py",
        "        query = state.shown[:, None]\n        contexts",
        "        query = self.stack.step(torch.cat([previous, state.shown.new_zeros("
        "state.shown.shape[0], self.context_size)], dim=-1), state.layers)[0][:, None]\n"
        "        contexts",
        "the new state asks",
    ),
    Mutation(
        "decoders/bahdanau.py",
        "Step(state.shown, shown, c, shown_weights)",
        "Step(shown, shown, c, shown_weights)",
        "the readout sees the new state",
    ),
    Mutation(
        "decoders/luong.py",
        "torch.tanh(self.W_c(torch.cat([c, h], dim=-1)))",
        "torch.tanh(self.W_c(torch.cat([h, c], dim=-1)))",
        "context and state change places in h̃",
    ),
    Mutation(
        "decoders/luong.py",
        "look(self.attention, h, memory, state, imposed, need_weights)",
        "look(self.attention, torch.cat([state.shown[:, None], h[:, :-1]], dim=1), memory, "
        "state, imposed, need_weights)",
        "the old state asks",
    ),
    Mutation(
        "decoders/luong.py",
        "return memory, replace(state, shown=torch.zeros_like(state.shown))",
        "return memory, state",
        "the first h̃ is not zero",
    ),
    Mutation(
        "decoders/convolutional.py",
        "h = (h + root_m * c) * 0.5**0.5",
        "h = (h + c) * 0.5**0.5",
        "√m is forgotten",
    ),
    Mutation(
        "decoders/convolutional.py",
        "W_d(h) + previous,",
        "W_d(h),",
        "the last word does not ask",
    ),
    Mutation(
        "decoders/transformer.py",
        "new = self.words.remember(x, x, everywhere, offset=words.keys.shape[-2])",
        "new = self.words.remember(x, x, everywhere)",
        "a cached word stands at position 0",
    ),
    Mutation(
        "decoders/plain.py",
        "return torch.cat([previous, _beside(memory.context, previous)], dim=-1)",
        "return torch.cat([previous, 0 * _beside(memory.context, previous)], dim=-1)",
        "the context at every step is lost",
    ),
    Mutation(
        "decoders/first.py",
        "states = [torch.tanh(W_s(encoded.summary)) for W_s in self.W_s]",
        "states = [W_s(encoded.summary) for W_s in self.W_s]",
        "s_0 has no tanh",
    ),
    Mutation(
        "models/seq2seq.py",
        "previous = self.target_embedding(words[:, None], state.position)[:, 0]",
        "previous = self.target_embedding(words[:, None])[:, 0]",
        "every stepped word stands at position 0",
    ),
    Mutation(
        "models/build.py",
        "scale=config.size**0.5 if config.scaled else 1.0",
        "scale=1.0",
        "Vaswani's embeddings lose their √D",
    ),
    Mutation(
        "models/build.py",
        "        source.weight = target.weight\n",
        "        pass\n",
        "only two of three matrices are tied",
    ),
    Mutation(
        "models/presets.py",
        'inputs=("old_state", "previous", "context"),',
        'inputs=("new_state", "previous", "context"),',
        "Bahdanau's readout sees the new state",
    ),
    Mutation(
        "models/presets.py",
        '"bias": False,',
        '"bias": True,',
        "Sutskever has biases",
    ),
    Mutation(
        "models/presets.py",
        'summary="backward" if bidirectional else "last",',
        'summary="last",',
        "Bahdanau starts from both directions",
    ),
    Mutation(
        "models/combinations.py",
        "if score in same_width and decoder.hidden_size != key_size(config):",
        "if False:",
        "a dot score of two widths builds",
    ),
    Mutation(
        "models/combinations.py",
        "    if encoder.bidirectional:\n",
        "    if False:\n",
        "two directions are copied into one",
    ),
    Mutation(
        "config/checks.py",
        "0 <= value < 1",
        "0 <= value <= 1",
        "everything may be dropped",
    ),
    Mutation(
        "config/checks.py",
        "if found := [*rules, *fields]:",
        "if found := [*rules, *fields][:1]:",
        "only the first problem is said",
    ),
    Mutation(
        "config/model.py",
        'if sound(self, "kernel_size") and self.kernel_size % 2 == 0:',
        "if False:",
        "a kernel without a middle",
    ),
    Mutation(
        "config/model.py",
        "if self.model_size % self.num_heads:",
        "if False:",
        "heads that do not divide the width",
    ),
    Mutation(
        "config/model.py",
        'if self.coverage and self.score != "additive":',
        "if False:",
        "coverage under a score that has none",
    ),
    Mutation(
        "cli/doctor.py",
        "for name, choice in CHOICES.items():",
        "for name, choice in []:",
        "the doctor is silent",
    ),
    Mutation(
        "cli/doctor.py", 'console.print("Next: make demo", style="bold")', "pass", "no next command"
    ),
    Mutation("cli/__init__.py", 'print(f"regard {__version__}")', 'print("regard")', "no version"),
    Mutation(
        "cli/__init__.py",
        "from typing import Annotated\n",
        "from typing import Annotated\n\nimport torch  # noqa\n",
        "help imports torch",
    ),
    Mutation(
        "decoders/recurrent.py",
        "seen = None if state.coverage is None else state.coverage[:, None]",
        "seen = None if state.coverage is None else 0.5 * state.coverage[:, None]",
        "coverage counts half",
    ),
    Mutation(
        "nn/attention.py",
        "return self.attention.remember(heads, self._split(self.W_v(values)), mask[:, None])",
        "values = self._split(self.W_v(values))\n"
        "        values = values if self.rotary is None else self.rotary(values, offset)\n"
        "        return self.attention.remember(heads, values, mask[:, None])",
        "values are turned too",
    ),
    Mutation(
        "nn/blocks.py",
        "return self.W_2(self.dropout(torch.relu(self.W_1(x))))",
        "return self.W_2(torch.relu(self.W_1(x)))",
        "the feed-forward layer drops nothing",
    ),
    Mutation(
        "nn/blocks.py",
        "gated = self.convolution(self.dropout(padded).mT)",
        "gated = self.convolution(padded.mT)",
        "convolutions drop nothing",
    ),
    Mutation(
        "nn/stack.py",
        "        moved = []\n        for layer, (cell, state) in enumerate(zip(self.layers, states, strict=True)):\n"
        "            x = self.dropout(x) if layer else x\n",
        "        moved = []\n        for layer, (cell, state) in enumerate(zip(self.layers, states, strict=True)):\n",
        "steps drop nothing between layers",
    ),
    Mutation(
        "models/build.py",
        'after = config.cell == "gru_after"',
        "after = False",
        "every GRU resets before",
    ),
    Mutation(
        "models/build.py",
        "residual=config.residual,",
        "residual=False,",
        "residuals are not built",
    ),
    Mutation(
        "models/build.py",
        '"scaled_dot": ScaledDotScore,',
        '"scaled_dot": DotScore,',
        "scaled dot is built unscaled",
    ),
    Mutation(
        "models/build.py",
        'if own_words and config.attention_positions == "rotary":',
        "if False:",
        "rotary positions are not built",
    ),
    Mutation(
        "decoders/convolutional.py",
        "self.enter(previous), [], []",
        "-self.enter(previous), [], []",
        "words enter the decoder with the wrong sign",
    ),
]
