"""The MLA prolog in torch, as one would write it for speed: variants that differ in operand types and weight layouts."""

import torch
import torch.nn.functional as F

HE, HCQ, HEADS, D, ROPE, LATENT = 7168, 1536, 128, 128, 64, 512
SHAPES = {"dq": (HE, HCQ), "dkv_kr": (HE, LATENT + ROPE), "uq_qr": (HCQ, HEADS * (D + ROPE))}


def rope(x, cos, sin):
    x = torch.cat((x[..., 0::2], x[..., 1::2]), -1)
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def dynamic_quant(x):
    x = x.float()
    scale = x.abs().amax(-1, keepdim=True) / 127
    return torch.round(x / scale).to(torch.int8), scale


class Variant:
    """One set of weights per copy, so that each call can find them cold.

    layout "nk": weights (N, K), as torch.nn.Linear has them; "kn": (K, N).
    uk: the type of weight_uk and of q^C.
    """

    name = ""

    def __init__(self, dtype, uk=None):
        self.dtype = dtype
        self.uk = uk or dtype

    def copies(self, count):
        return [self.weights() for _ in range(count)]

    def weights(self):
        weights = {name: self.weight(k, n) for name, (k, n) in SHAPES.items()}
        weights["uk"] = (torch.randn(HEADS, D, LATENT) * 0.03).to(self.uk)
        return weights

    def prepare_tokens(self, x):
        return x.to(self.dtype), None

    def call(self, weights, inputs):
        x, scale = inputs["x"], inputs["x_scale"]
        cq = self.project(x, scale, weights["dq"]).to(self.dtype)
        kv = self.project(x, scale, weights["dkv_kr"]).to(self.dtype)
        cq = F.rms_norm(cq, (HCQ,), inputs["gamma_cq"], 1e-5)
        q = self.project(*self.quantise(cq), weights["uq_qr"]).to(self.dtype).view(-1, HEADS, D + ROPE)
        nope = q[..., :D].transpose(0, 1).to(self.uk)
        query = torch.bmm(nope, weights["uk"]).to(torch.bfloat16).transpose(0, 1)
        query_rope = rope(q[..., D:], inputs["cos"][:, None], inputs["sin"][:, None])
        latent = F.rms_norm(kv[:, :LATENT], (LATENT,), inputs["gamma_ckv"], 1e-5)
        key_rope = rope(kv[:, LATENT:], inputs["cos"], inputs["sin"])
        inputs["kv_cache"].index_copy_(0, inputs["slots"], latent.to(torch.bfloat16))
        inputs["kr_cache"].index_copy_(0, inputs["slots"], key_rope.to(torch.bfloat16))
        return query, query_rope

    def quantise(self, x):
        return x, None


class Linear(Variant):
    """F.linear with weights (N, K)."""

    def __init__(self, dtype):
        super().__init__(dtype)
        self.name = f"{str(dtype).removeprefix('torch.')} (N,K)"

    def weight(self, k, n):
        return (torch.randn(n, k) * 0.03).to(self.dtype)

    def project(self, x, scale, weight):
        return F.linear(x, weight)


class Mm(Variant):
    """torch.mm with weights (K, N)."""

    def __init__(self, dtype):
        super().__init__(dtype)
        self.name = f"{str(dtype).removeprefix('torch.')} (K,N)"

    def weight(self, k, n):
        return (torch.randn(k, n) * 0.03).to(self.dtype)

    def project(self, x, scale, weight):
        return torch.mm(x, weight)


class Int8(Variant):
    """Tokens and c^Q quantised per row; the exact int32 products are scaled by row and column."""

    def __init__(self, uk):
        super().__init__(torch.bfloat16, uk)

    def prepare_tokens(self, x):
        return dynamic_quant(x)

    def quantise(self, x):
        return dynamic_quant(x)


class IntMm(Int8):
    def __init__(self, layout, uk):
        super().__init__(uk)
        self.layout = layout
        self.name = f"_int_mm {'(N,K).t()' if layout == 'nk' else '(K,N)'}, W_UK {str(uk).removeprefix('torch.')}"

    def weight(self, k, n):
        shape = (n, k) if self.layout == "nk" else (k, n)
        codes = torch.randint(-127, 128, shape, dtype=torch.int8)
        return (codes.t() if self.layout == "nk" else codes, torch.rand(n) * 1e-3)

    def project(self, x, scale, weight):
        return torch._int_mm(x, weight[0]).float() * scale * weight[1]


class QLinear(Int8):
    """The quantised linear that torch's own int8 export uses, prepacked; it takes u8 tokens with zero point 128."""

    def __init__(self, uk):
        super().__init__(uk)
        self.name = f"qlinear, W_UK {str(uk).removeprefix('torch.')}"

    def weight(self, k, n):
        codes = torch.randint(-127, 128, (n, k), dtype=torch.int8)
        return torch.ops.onednn.qlinear_prepack(codes, None), torch.rand(n) * 1e-3, torch.zeros(n, dtype=torch.int64)

    @staticmethod
    def _unsigned(codes):
        return codes.view(torch.uint8).bitwise_xor(128)

    def prepare_tokens(self, x):
        codes, scale = dynamic_quant(x)
        return self._unsigned(codes), scale

    def quantise(self, x):
        codes, scale = dynamic_quant(x)
        return self._unsigned(codes), scale

    def project(self, x, scale, weight):
        packed, channel, zero = weight
        return torch.ops.onednn.qlinear_pointwise(
            x, 1.0, 128, packed, channel, zero, None, 1.0, 0, torch.float32, "none", [], "") * scale


def inputs_for(variant, tokens):
    x, scale = variant.prepare_tokens(torch.randn(tokens, HE).to(torch.bfloat16))
    return {
        "x": x,
        "x_scale": scale,
        "cos": torch.rand(tokens, ROPE).to(variant.dtype),
        "sin": torch.rand(tokens, ROPE).to(variant.dtype),
        "gamma_cq": torch.ones(HCQ, dtype=variant.dtype),
        "gamma_ckv": torch.ones(LATENT, dtype=variant.dtype),
        "slots": torch.randperm(tokens),
        "kv_cache": torch.zeros(tokens, LATENT, dtype=torch.bfloat16),
        "kr_cache": torch.zeros(tokens, ROPE, dtype=torch.bfloat16),
    }


VARIANTS = {
    "w0kv0": [lambda: Linear(torch.bfloat16), lambda: Mm(torch.bfloat16),
              lambda: Linear(torch.float32), lambda: Mm(torch.float32)],
    "w2kv0": [lambda: IntMm("nk", torch.bfloat16), lambda: IntMm("kn", torch.bfloat16),
              lambda: IntMm("nk", torch.float32), lambda: IntMm("kn", torch.float32), lambda: QLinear(torch.float32)],
}


def int8_errors():
    """How many of the results of each int8 product are wrong on full-range data."""
    torch.manual_seed(0)
    x = torch.randint(-127, 128, (8, HCQ), dtype=torch.int8)
    w = torch.randint(-127, 128, (HCQ, 256), dtype=torch.int8)
    exact = x.long() @ w.long()
    wrong = {"_int_mm (K,N)": int((torch._int_mm(x.repeat(4, 1), w)[:8].long() != exact).sum())}
    wrong["_int_mm (N,K).t()"] = int((torch._int_mm(x.repeat(4, 1), w.t().contiguous().t())[:8].long() != exact).sum())
    packed = torch.ops.onednn.qlinear_prepack(w.t().contiguous(), None)
    y = torch.ops.onednn.qlinear_pointwise(
        QLinear._unsigned(x), 1.0, 128, packed, torch.ones(256), torch.zeros(256, dtype=torch.int64), None, 1.0, 0,
        torch.float32, "none", [], "")
    wrong["qlinear"] = int((y.double() != exact.double()).sum())
    return {"results": exact.numel(), "wrong": wrong}
