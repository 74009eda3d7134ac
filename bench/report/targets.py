"""What is to be reached, at DeepSeek-V3 size with all threads; None where nothing is asked."""


def share_of_roof(scenario, tokens, isa):
    kind = {"0": "bf16", "1": "int8", "2": "int8"}.get(scenario[1], "8-bit float")
    if tokens == 1:
        return 0.80 if kind == "8-bit float" else 0.90
    if 2 <= tokens <= 64:
        return 0.65 if kind == "8-bit float" else 0.75
    if tokens >= 256:
        return 0.85 if kind == "bf16" and isa != "avx2" else 0.80
    return None


def row_share(scenario, tokens):
    """The most that the row steps may take."""
    if tokens < 8:
        return None
    return 0.12 if scenario == "w2kv1" else 0.05


FIRST_OVER_MEDIAN = 1.2
ONEDNN_RATIO = 1.0
TORCH_RATIO = {
    "w0kv0": {1: 1.3, 8: 2.5, 64: 1.3, 512: 1.3},
    "w2kv0": {1: 1.35, 8: 1.5, 64: 1.8, 512: 2.5},
}
# Against torch's variants with bf16 weights alone.
TORCH_BF16_RATIO = {64: 3.5, 512: 3.5}
