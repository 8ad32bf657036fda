"""Sizes of answers in bytes, from shapes alone, before the model runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

from chumoku.app.api.explain.requests import ContributionsRequest, RouteRequest, WritesRequest
from chumoku.app.api.requests import BeamsRequest, GenerateRequest, TraceRequest, TranslateRequest, WaysRequest
from chumoku.app.api.run import RunRequest
from chumoku.app.services.memory_budget import Size
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.tokens import TOKEN_BYTES
from chumoku.model import pooling
from chumoku.model.describe import Attention, Description, FfnSublayer, Stack, TapPlace
from chumoku.model.translate import LONGER

ITEM = {"float32": 4, "float16": 2, "uint8": 1}
BASE64 = 4 / 3
NPZ_CHARACTER = 4
"""numpy's strings are UTF-32."""
FIXED = 16_384
"""The rest of an answer: names, shapes, the run."""
CANDIDATE, NUMBER, LISTED = 320, 24, 32
"""Most bytes of JSON for a candidate, a number, and an id with its number."""
CLASS = 400
"""Of a class: its name, once or twice, and its numbers."""
EFFECT, KEY_EFFECT = 200, 280
"""Bytes of an effect's event; of one that also says what a key brings."""
NOTHING: Mapping[str, Sequence[str]] = {}
EXACT = {"detail": (" of the detail, or ask for fewer of its `heads`", "detail.want"), "whole": ("", "whole")}
"""How what is wanted exact gets smaller, and where a request says it."""
WAITING = 65_536
"""Bytes of a stream that uvicorn buffers before the next event is made."""


def of_trace(
    plan: RunPlan, request: TraceRequest, names: list[str], more: Mapping[str, Sequence[str]] = NOTHING, pool: int = 1
) -> Size:
    """The tensors that `names` lists (patterns are positions², pooled ones (positions / pool)²), those that are wanted
    exact (`more`, by field), and the predictions (positions × candidates)."""
    description, taps = plan.traceable.description, plan.traceable.description.taps
    tensors = Counter({name: tensor_bytes(plan, request, taps[name], pool) for name in names})
    exact = {
        field: Counter({name: tensor_bytes(plan, part, taps[name]) for name in more[field]})
        for field, part in request.exact.items()
    }
    listed = request.predict.listed * CANDIDATE if request.predict else 0
    described = 400 * len(taps) if request.describe else 0
    picture = int(BASE64 * len(plan.run.pixels or b""))
    classes = CLASS * len(description.classes) * (2 if request.describe else 1)
    text = listed + described + picture + classes + TOKEN_BYTES * sum(plan.lengths.values()) + FIXED
    most, largest = max(exact.items(), key=lambda item: item[1].total(), default=("", tensors))
    sent = tensors.total() + sum(own.total() for own in exact.values())
    n_names = len(names) + sum(map(len, exact.values()))
    total = sent + 300 * n_names + (NPZ_CHARACTER if request.format == "npz" else 1) * text
    if listed > sent:
        return Size(total, "List fewer positions or fewer candidates.", "predict")
    if largest.total() > tensors.total():
        fewer, where = EXACT[most]
        return Size(total, f"{most_of(largest, description)}: leave that out{fewer}.", where)
    less = "leave that out of `want`, or ask for fewer layers or heads, or for float16"
    return Size(total, f"{most_of(tensors, description)}: {less}.", "want")


def most_of(tensors: Counter[str], description: Description) -> str:
    """The role of the largest tensors, over all layers."""
    roles: Counter[str] = Counter()
    for name, n_bytes in tensors.items():
        roles[description.taps[name].role] += n_bytes
    named = " and ".join(f"{role!r}" for role, _ in roles.most_common(2))
    return f"Most of it is {named}"


def tensor_bytes(plan: RunPlan, request: TraceRequest, place: TapPlace, pool: int = 1) -> int:
    shape = shape_of(plan, place)
    if place.tap in plan.traceable.description.overviews | plan.traceable.description.masks:
        shape |= {dim: pooling.blocks(shape[dim], pool) for dim in ("query", "key")}
    if request.queries is not None and place.dims == "head query key":
        shape["query"] = len(request.queries)
    if request.heads is not None:
        shape = {dim: min(n, len(request.heads)) if dim in ("head", "kv_head") else n for dim, n in shape.items()}
    item = ITEM[request.dtype]
    if place.dims == "query key":
        item = 8  # distances: integers, sent as they are
    elif place.tap in plan.traceable.description.masks:
        item = 1
    return item * prod(shape.values())


def shape_of(plan: RunPlan, place: TapPlace) -> dict[str, int]:
    """A tensor's dimensions by name. One that is not known is as wide as the stream."""
    description, lengths = plan.traceable.description, plan.lengths
    stack = description.stack(place.stack) if place.stack else description.readout
    attention = description.attention(place.attention) if place.attention else None
    known = {"vocab": description.vocab_size, "class": len(description.classes), "position": lengths[stack.side]}
    known["d_ff"] = max(widths(stack), default=0)
    if attention is not None:
        known |= {"head": attention.n_head, "kv_head": attention.n_kv_head, "d_head": attention.d_head}
        known |= {"query": lengths[attention.queries], "key": lengths[attention.keys]}
        known["position"] = lengths[attention.side_of(place.role)]
    return {dim: known.get(dim, description.d_model) for dim in place.dims.split()}


def of_explanation(plan: RunPlan, request: RunRequest) -> Size:
    """At most: numbers for each position and sublayer, and for each listed candidate; a route's shares."""
    description = plan.traceable.description
    depth = 1 if isinstance(request, WritesRequest) else sum(1 + len(stack.sublayers) for stack in description.stacks)
    places, k = depth * sum(plan.lengths.values()), getattr(request, "k", 0)
    numbers = 8 * places + sum(one.n_layer * one.n_head * 64 for one in description.attentions)
    units = sum(sum(widths(stack)) for stack in description.stacks)
    if isinstance(request, ContributionsRequest) and request.by_key:
        numbers += sum(one.n_layer * one.n_head * plan.lengths[one.keys] for one in description.attentions)
    shares = share_bytes(plan) if isinstance(request, RouteRequest) else 0
    listed = places * k * LISTED + min(description.vocab_size, places * k) * TOKEN_BYTES
    total = NUMBER * (numbers + units) + int(BASE64 * shares) + listed + FIXED
    return Size(total, "Use a shorter sentence, or list fewer candidates (`k`).")


def of_generation(plan: RunPlan, request: GenerateRequest) -> Size:
    """The largest event of the stream, and what waits before it."""
    description, lengths = plan.traceable.description, plan.lengths
    written = {side: description.max_seq_len if side == description.writes else n for side, n in lengths.items()}
    looking = [one for one in description.attentions if one.stack == description.logits.stack]
    rows = sum(one.n_layer * one.n_head * written[one.keys] for one in looking) if request.rows else 0
    largest = max(TOKEN_BYTES * sum(lengths.values()), int(BASE64 * rows)) + request.n * CANDIDATE
    return Size(largest + FIXED + WAITING, "List fewer candidates (`n`), or leave out `rows`.")


def of_ways(plan: RunPlan, request: WaysRequest) -> Size:
    """The largest events of all ways."""
    one = of_generation(plan, request)
    return Size(request.ways * one.n_bytes, "List fewer candidates (`n`), or ask for fewer `ways`.")


def of_effects(n_edges: int) -> Size:
    """All events at once: they are small."""
    return Size(n_edges * EFFECT + FIXED + WAITING, "Ask for fewer `edges`.", "edges")


def of_ablations(description: Description, of_a_row: bool) -> Size:
    """All events at once: of each head and FFN, or of each key of a row."""
    heads = sum(one.n_layer * one.n_head for one in description.attentions)
    parts = description.max_seq_len if of_a_row else heads + sum(len(stack.ffns) for stack in description.stacks)
    of_one = KEY_EFFECT if of_a_row else EFFECT
    return Size(parts * of_one + FIXED + WAITING, "Use a smaller model.")


def of_patches(description: Description) -> Size:
    """All events at once: of every activation in the longest text."""
    places = sum(len(stack.layers) + len(stack.sublayers) for stack in description.stacks)
    return Size(places * description.max_seq_len * KEY_EFFECT + FIXED + WAITING, "Use a smaller model.")


def of_translation(plan: RunPlan, request: TranslateRequest) -> Size:
    """The source, and a target of the greatest length for each beam."""
    longest = min(plan.lengths["source"] + LONGER, plan.traceable.description.max_seq_len)
    n_tokens = plan.lengths["source"] + request.beams * longest
    return Size(n_tokens * TOKEN_BYTES + FIXED, "Use a shorter sentence, or fewer `beams`.", "beams")


def of_beams(plan: RunPlan, request: BeamsRequest) -> Size:
    """The text, and for each beam its tokens and twice as many that were considered."""
    n_tokens = sum(plan.lengths.values()) + 3 * request.beams * request.max_new_tokens
    return Size(n_tokens * TOKEN_BYTES + FIXED, "Use fewer `beams`, or `max_new_tokens`.", "beams")


def widths(stack: Stack) -> list[int]:
    """The number of units of each FFN."""
    return [part.d_ff for part in stack.sublayers if isinstance(part, FfnSublayer)]


MANY = 2**22
"""Up to this many shares are sent as float32."""


def are_many(plan: RunPlan) -> bool:
    """Whether a route's shares travel as float16, and those of earlier keys alone."""
    return sum(pairs(plan, one) for one in plan.traceable.description.attentions) > MANY


def is_lower(plan: RunPlan, attention: Attention) -> bool:
    """Whether no query of this run takes from a later key."""
    return attention.causal and plan.run.use.causal is not False and not plan.run.looks_ahead


def share_bytes(plan: RunPlan) -> int:
    """Of all shares of a route."""
    attentions = plan.traceable.description.attentions
    if not are_many(plan):
        return 4 * sum(pairs(plan, one) for one in attentions)
    return sum(
        2 * pairs(plan, one) * (plan.lengths[one.keys] + 1) // (2 * plan.lengths[one.keys])
        if is_lower(plan, one)
        else 2 * pairs(plan, one)
        for one in attentions
    )


def pairs(plan: RunPlan, attention: Attention) -> int:
    """[layer query key]"""
    return attention.n_layer * plan.lengths[attention.queries] * plan.lengths[attention.keys]
