"""A GPT and an encoder-decoder in PyTorch, the same networks as mpt-train's, with names of parameters that it reads."""
import math

import torch
from torch import nn
from torch.nn import functional

# Later PyTorch attends without storing scores for every pair of tokens; 1.13 has no such function.
FUSED_ATTENTION = hasattr(functional, "scaled_dot_product_attention")


def later_tokens(length):
    """[T, T], true where a token must not look: everything behind it."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


class CausalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x, hidden):
        batch, length, width = x.shape
        parts = self.c_attn(x).split(width, dim=2)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        if FUSED_ATTENTION:
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = torch.matmul(q, k.transpose(2, 3)) * q.shape[-1] ** -0.5
            mixed = torch.matmul(scores.masked_fill(hidden, -math.inf).softmax(dim=3), v)
        return self.c_proj(mixed.transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), CausalAttention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), FeedForward(width)

    def forward(self, x, hidden):
        x = x + self.attn(self.ln_1(x), hidden)
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """Pre-norm, learned positions, gelu (tanh), output tied to the embedding, no dropout; initialised as GPT-2."""

    def __init__(self, depth, width, heads, vocabulary, context):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(GptBlock(width, heads) for _ in range(depth))
        self.ln_f = nn.LayerNorm(width)
        self.register_buffer("hidden", later_tokens(context), persistent=False)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * depth))
            elif parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.wte(tokens) + self.wpe.weight[:length]
        for block in self.h:
            x = block(x, self.hidden[:length, :length])
        return functional.linear(self.ln_f(x), self.wte.weight)

    def hugging_face_state(self):
        """The weights as Hugging Face's GPT-2 has them: its products hold [in, out], nn.Linear [out, in]."""
        return {name: tensor.t().contiguous() if ".c_" in name and tensor.dim() == 2 else tensor
                for name, tensor in self.state_dict().items()}


class EncoderDecoder(nn.Module):
    """Vaswani's Transformer, post-norm, one table for source, target and output; dropout where nn.Transformer has it."""

    def __init__(self, depth, width, heads, ffn_width, vocabulary, context, dropout):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(width, heads, depth, depth, ffn_width, dropout, batch_first=True)
        # As published, and as mpt-train has it: no further norm behind post-norm layers.
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.drop = nn.Dropout(dropout)
        angles = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("positions", torch.stack((angles.sin(), angles.cos()), 2).flatten(1), persistent=False)
        self.register_buffer("hidden", later_tokens(context), persistent=False)
        nn.init.normal_(self.embedding.weight, std=width ** -0.5)

    def embedded(self, tokens):
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.drop(x + self.positions[:tokens.shape[1]])

    def forward(self, source, target, source_padding=None):
        """source_padding: [N, S], true where there is no token."""
        length = target.shape[1]
        x = self.transformer(self.embedded(source), self.embedded(target), tgt_mask=self.hidden[:length, :length],
                             src_key_padding_mask=source_padding, memory_key_padding_mask=source_padding)
        return functional.linear(x, self.embedding.weight)
