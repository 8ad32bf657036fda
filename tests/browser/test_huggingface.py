"""Models of transformers on the page: what is different in each family is explained by its own formula, with the
model's numbers."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import expect
from safetensors.numpy import load

from tests.browser.helpers import FLAWS, all_heads, flaws, settled, show_pads, to_station, walked
from tests.conftest import served

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm

SQUARE = """async ([layer, head]) => {
  const { sceneOf } = await import("/static/river/board.js");
  const { squares } = sceneOf(document.querySelector('[data-testid="river"]'));
  const one = squares.find((square) => square.layer === layer && square.head === head);
  return { x: one.x + one.width / 2, y: one.y + one.height / 2 };
}"""
"""The middle of a head's square in the river."""
CHAT = (
    "{{ bos_token }}{% for turn in messages %}{% if turn.role == 'system' %}{{ raise_exception('no system turns') }}"
    "{% endif %}{% if turn.role == 'user' %}[{{ turn.content }}]{% else %}{{ turn.content + eos_token }}{% endif %}"
    "{% endfor %}"
)
STEPS = {
    "llama": {"attn.role-q_rotated", "ffn.up", "ffn.silu", "out.logits"},
    "qwen3": {"attn.role-q", "attn.role-k", "attn.role-q_rotated"},
    "gpt-neox": {"attn.role-q_rotated", "ffn.residual", "ffn.gelu"},
    "t5": {"attn.role-content_scores", "attn.role-relative_bias", "attn.role-scores", "cross_attn.role-scores"},
    "phi": {"attn.heads", "attn.scores", "attn.av", "attn.role-attn_out"},
    "rwkv": {"in.start", "attn.feature", "attn.role-z", "ffn.shift", "ffn.relu_squared", "ffn.wr", "ffn.receive"},
    "bloom": {"in.start", "attn.role-alibi", "attn.role-scores", "ffn.gelu_tanh"},
}
"""Steps of the walk that each has, among others."""
VIEWS = {
    "llama": ("rotation", "ffn"),
    "qwen3": ("qkv", "rotation"),
    "gpt-neox": ("rotation",),
    "t5": ("attention", "av"),
    "rwkv": ("attention", "gate", "decay", "ffn"),
    "bloom": ("attention",),
    "phi": ("attention", "qkv", "av"),
}


@pytest.fixture(scope="module")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings
    from tests.toys import huggingface as toys

    models = {
        "llama": (toys.llama(rope_parameters=toys.LLAMA_3, head_dim=6), toys.sentence_piece()),
        "qwen3": (toys.llama("Qwen3", head_dim=6), toys.byte_level()),
        "gpt-neox": (toys.gpt_neox(), toys.byte_level()),
        "t5": (toys.t5(), toys.sentence_piece(f"$A {toys.END}")),
        "bloom": (toys.bloom(), toys.byte_level()),
        "phi": (toys.phi(), toys.byte_level()),
        "rwkv": (toys.rwkv(hidden_size=130), toys.byte_level()),
        "chat": (toys.llama(max_position_embeddings=64), toys.chatting(CHAT)),
        "pairs": (toys.bert(type_vocab_size=2, max_position_embeddings=40), toys.word_piece()),
        "long": (toys.gpt2(n_positions=128), toys.byte_level()),
    }
    folder = tmp_path_factory.mktemp("hf")
    saved = tuple(toys.save(folder / name, toys.random_numbers(one), words) for name, (one, words) in models.items())
    with served(create_app(Settings(models=saved, device="cpu"))) as url:
        yield url


def whole(page: "Page") -> None:
    settled(page)
    assert flaws(page) == []


@pytest.mark.parametrize("model", STEPS)
def test_every_step_agrees_with_the_models_own_numbers(page: "Page", model: str) -> None:
    page.goto(f"/?text=a+cat&model={model}&view=computation&head=2&layer=1&computation.step=in.embed")
    whole(page)
    seen = walked(page, FLAWS)
    assert STEPS[model] <= seen.keys()
    assert {step: found for step, found in seen.items() if found} == {}
    for view in VIEWS[model]:
        to_station(page, view)
        whole(page)


LAYERS = "?text=a+cat&model={}&view=prediction&prediction.tab=layers&drawer=labels"


@pytest.mark.parametrize(("model", "read"), [("llama", "RMSNorm"), ("gpt-neox", "LayerNorm"), ("rwkv", "LayerNorm")])
def test_its_layers_are_read_and_its_heads_labelled(page: "Page", model: str, read: str) -> None:
    page.goto(f"/{LAYERS.format(model)}")
    whole(page)
    expect(page.get_by_text(f"final {read} and unembedding, applied after each layer")).to_be_visible()
    gap = page.get_by_test_id("lens-gap")
    expect(gap).to_contain_text("The last row is the model’s own output")
    assert float(gap.get_attribute("data-gap") or 1) <= 1e-6
    chips = page.locator(".lens-chip")
    expect(chips.first).to_be_disabled()  # its logits are not explained: `can.contributions`
    expect(page.get_by_text("Click a token to see its logit explained")).to_be_hidden()
    expect(page.get_by_test_id("label-counts")).to_contain_text(
        re.compile(r"\d+ of \d+ (heads|groups)[\w ]* shows? a known pattern")
    )
    expect(page.get_by_test_id("label-scores")).to_have_count(1)


def test_where_more_than_a_matrix_makes_the_logits_no_layer_is_read(page: "Page") -> None:
    page.goto(f"/{LAYERS.format('t5')}")
    whole(page)
    expect(page.get_by_test_id("lens-grid")).to_be_hidden()
    expect(page.get_by_test_id("label-counts")).to_be_visible()


def test_a_norm_and_a_gate_have_their_own_words(page: "Page") -> None:
    page.goto("/?text=a+cat&model=llama&view=computation&head=4&computation.step=attn.norm")
    whole(page)
    expect(page.locator(".step-name")).to_have_text("RMSNorm")
    page.goto("/?text=a+cat&model=llama&view=ffn&unit_id=9")
    whole(page)
    expect(page.locator('[data-explanation="unit"] [data-step="gate"] .check')).to_be_visible()


def test_a_parallel_residual_is_one_sum_of_three(page: "Page") -> None:
    page.goto("/?text=a+cat&model=gpt-neox&view=computation&computation.step=ffn.residual")
    whole(page)
    expect(page.get_by_text("there is no stream between them")).to_be_visible()
    steps = [one.get_attribute("data-step") for one in page.get_by_test_id("walk-step").all()]
    assert "attn.residual" not in steps


@pytest.mark.parametrize(("model", "role"), [("t5", "relative_bias"), ("bloom", "alibi")])
def test_what_positions_add_is_a_part_of_the_score(page: "Page", model: str, role: str) -> None:
    page.goto(f"/?text=a+cat&model={model}&view=attention&head=1&query=1&key=0")
    whole(page)
    if model == "t5":  # its last attention is the cross-attention, whose scores are bare products
        expect(page.locator('[data-explanation="weight"] [data-step="scaled"]')).to_contain_text(
            "nothing divides it by √4"
        )
        page.goto("/?text=a+cat&model=t5&view=attention&attention=encoder&head=1&query=1&key=0")
        whole(page)
    for step in ("content", "added", "scaled", "masked", "weights"):
        page.locator(f'[data-station="attention"] [data-testid="step-{step}"]').click()
        whole(page)
    line = page.locator('[data-explanation="weight"] [data-step="bias"]')
    expect(line).to_contain_text("what positions add")
    expect(page.locator('[data-explanation="weight"] [data-line="bias"] .check')).to_be_visible()


def test_positions_that_always_count_pads_say_so(page: "Page") -> None:
    page.goto("/?text=a+cat&model=t5&view=attention")
    settled(page)
    show_pads(page)
    for _ in range(2):
        page.get_by_test_id("pads-more").click()
        settled(page)
    expect(page.get_by_test_id("positions-now")).to_have_text("Now: the sentence has positions 2 to 8.")
    expect(page.get_by_test_id("switch-positions")).to_be_disabled()


def test_a_model_without_a_mask_offers_no_pads_and_halves_its_stream(page: "Page") -> None:
    page.goto("/?text=a+cat&model=rwkv&view=computation&layer=1&computation.step=ffn.residual")
    whole(page)
    expect(page.get_by_test_id("pads-more")).to_be_hidden()
    expect(page.get_by_text("After this layer the stream is multiplied by 0.5")).to_be_visible()
    page.goto("/?text=a+cat&model=rwkv&view=computation&layer=0&computation.step=ffn.residual")
    whole(page)
    expect(page.get_by_text("After this layer the stream is multiplied")).to_have_count(0)


def test_of_an_unknown_family_the_attention_is_shown_and_the_rest_is_said_to_be_missing(page: "Page") -> None:
    page.goto("/?text=a+cat&model=phi&view=computation&computation.step=attn.role-attn_out")
    whole(page)
    expect(page.get_by_text("The rest of this block is not shown")).to_be_visible()


def test_a_long_text_has_pooled_pictures_and_its_opened_heads_are_exact(
    page: "Page", monkeypatch: pytest.MonkeyPatch
) -> None:
    """120 tokens stand for a long text: the 2 × 3 pictures may have 5,000 cells, so each is 8 × 8 weights."""
    from chumoku.model import pooling

    monkeypatch.setattr(pooling, "PICTURES", 5_000)
    text = ("a little cat sat on a mat " * 5)[:120]
    page.goto(f"/?text={text}&model=long&river.shown=on&layer=1&head=2")
    whole(page)
    expect(page.get_by_test_id("heads-pooled")).to_contain_text("8 × 8")
    all_heads(page)
    pictures = page.get_by_test_id("head")
    assert {one.evaluate("canvas => canvas.width") for one in pictures.all()} == {15}

    def weights(layer: int, head: int) -> np.ndarray:
        tap = f"layers.{layer}.attn.pattern"
        asked = {"text": text, "model": "long", "want": [tap], "layers": [layer], "heads": [head]}
        return np.asarray(load(page.request.post("/api/trace", data=asked).body())[tap])[0]

    def is_exact(layer: int, head: int) -> None:
        row = weights(layer, head)[-1]
        readout = page.locator('[data-station="attention"] .readout').first
        said = re.search(r"key .*: weight ([\d.]+)", readout.inner_text())
        assert said
        assert int(readout.get_attribute("data-key") or -1) == row.argmax()
        assert float(said[1]) == pytest.approx(row.max(), rel=1e-3)

    is_exact(1, 2)
    all_heads(page)
    page.locator('[data-testid="head"][data-layer="0"][data-head="1"]').click()
    expect(page.get_by_role("heading", name="Head 0·1")).to_be_visible()
    whole(page)
    is_exact(0, 1)
    page.get_by_test_id("crumb-model").click()  # in the whole model the heads are below the river
    whole(page)
    expect(page.get_by_test_id("river-legend")).to_contain_text("in order of their number, not of their effect")
    page.get_by_test_id("river").hover(position=page.evaluate(SQUARE, [1, 0]))
    most = 100 * weights(1, 0)[-1].max()
    said = page.get_by_test_id("river-tip")
    expect(said).to_contain_text("Head 1·0: ")
    expect(said).to_contain_text(f"{most:.{0 if most >= 9.5 else 1}f} %")


def test_the_heads_of_two_runs_of_a_long_text_are_compared(page: "Page", monkeypatch: pytest.MonkeyPatch) -> None:
    """By the server, which sends three numbers a head: those of the whole weights of both runs, and two PADs."""
    from chumoku.model import pooling

    monkeypatch.setattr(pooling, "PICTURES", 5_000)
    text = ("a little cat sat on a mat " * 5)[:120]
    page.goto(f'/?text={text}&model=long&level=everything&compare=on&run={{"masks":{{"causal":false}}}}')
    whole(page)
    rows = page.locator('[data-testid="moved-head"]')
    expect(rows).to_have_count(6)
    expect(page.locator('[data-testid="moved-bar"][data-moved]')).to_have_count(6)
    asked = {"text": text, "model": "long", "want": ["layers.*.attn.pattern"]}
    runs = [asked, asked | {"masks": {"causal": False}}]
    was, now = (load(page.request.post("/api/trace", data=run).body()) for run in runs)
    for row in rows.all():
        data = row.evaluate("row => ({...row.dataset})")
        tap, head = f"layers.{data['layer']}.attn.pattern", int(data["head"])
        moved = np.abs(now[tap][head] - was[tap][head]).sum(-1).mean() / 2
        assert float(data["moved"]) == pytest.approx(moved, abs=1e-3)
        assert float(data["future"]) == pytest.approx(np.triu(now[tap][head], 1).sum(-1).mean(), abs=1e-3)
    expect(page.get_by_text("compared as float16")).to_be_visible()


def test_a_second_text_is_read_with_the_first_and_one_text_s_weights_on_the_other_are_shown(page: "Page") -> None:
    page.goto("/?text=a+cat&model=pairs&view=attention")
    whole(page)
    expect(page.get_by_test_id("pair-B")).to_have_count(0)
    page.get_by_test_id("add-pair").click()
    expect(page.get_by_test_id("pair")).to_be_focused()
    page.get_by_test_id("pair").fill("cats")
    expect(page.get_by_test_id("pair-B")).to_be_visible()
    expect(page.get_by_test_id("add-pair")).to_be_hidden()
    expect(page.get_by_test_id("token")).to_have_count(7)  # [CLS] a cat [SEP] cat ##s [SEP]
    settled(page)
    page.get_by_test_id("part-ab").click()
    expect(page.locator('[data-matrix="weights-ab"]')).to_be_visible()
    page.get_by_test_id("average").select_option("mean_all")
    expect(page.locator('[data-matrix="weights-mean-all-ab"]')).to_be_visible()
    expect(page).to_have_url(re.compile("average=mean_all.*part=ab"))
    page.goto("/?text=a+cat&model=pairs&view=embedding")
    whole(page)
    expect(page.locator('[data-matrix="token-types"]')).to_be_visible()
    expect(page.get_by_test_id("sum-of-cell")).to_contain_text("‖token type 0‖")
    assert page.get_by_test_id("embedding-all").get_attribute("data-gap") == "0", "what the model normalises"


def test_a_chat_is_written_by_the_models_template_and_read(page: "Page", page_errors: list[str]) -> None:
    page.goto("/?text=a+cat&model=chat")
    expect(page.get_by_test_id("token")).to_have_count(7)  # <s> ▁ a ▁ c a t
    settled(page)
    page.get_by_test_id("chat").click()
    expect(page.get_by_test_id("chat-turn-0")).to_have_value("a cat")
    page.get_by_test_id("chat-role-0").select_option("system")
    page.get_by_test_id("chat-add").click()
    page.get_by_test_id("chat-turn-1").fill("hi")
    page.get_by_test_id("chat-read").click()
    expect(page.get_by_test_id("chat-problem")).to_contain_text("no system turns")
    page_errors.clear()  # the browser reports the 4xx
    page.get_by_test_id("chat-role-0").select_option("user")
    page.get_by_test_id("chat-role-1").select_option("assistant")
    page.get_by_test_id("chat-read").click()
    expect(page.get_by_test_id("chat-dialog")).to_be_hidden()
    expect(page.get_by_test_id("sentence")).to_have_value("<s>[a cat]hi</s>")
