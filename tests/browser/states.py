"""The main states of the page, for checks of its layout (test_legible.py) and for `make look` (look.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.browser.helpers import settled
from tests.browser.shared_page import FOLLOW

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROMPT = [1591, 1297, 330, 1063, 736, 13, 710, 296, 786, 13, 1462, 643, 261, 1063]
STORY = "text=Tom lost his red car. Tom was sad. Mom found the red"
WRITTEN = (
    "run=" + quote(json.dumps({"model": "stories-gpt", "input": {"token_ids": [*PROMPT, 736, 269, 713]}}))
    + f"&{STORY}&tree=-1*0*{'.'.join(map(str, PROMPT))}*0_0*0*736*4*0.97*1*0.54*7*0_1*0*269*4*0.62*0.76*0.62*7*0"
    "_2*0*868*4*0.15*0.2*0.62*7*0*happy%20end_2*0*713*5*0.05*0.06_1*1**1_5*1*311*4*0.4*0.4*0.4*7*0__"
    + quote(json.dumps({
        "runs": [{"model": "stories-gpt", "text": STORY[5:], **edit} for edit in ({}, {"causal": False})],
        "settings": [{"temperature": 0.8}],
        "words": {"736": " car", "269": " and", "868": " gave", "713": " put", "311": " it"},
        "tip": 4,
        "pair": [3, 4],
    }))
)  # fmt: skip
CAT = "text=The cat sat."
REVIEW = "text=The story is thin, but the actors are wonderful."
SOLD = "text=She sold her car yesterday."
DIGIT = [[0, 0, 5, 13, 9, 1, 0, 0]] * 8
PIXELS = "run=" + quote(json.dumps({"model": "digits-vit", "input": {"pixels": DIGIT}}))
ALONE = "river.shown=off"

STATES = {
    "start": "start#",
    "empty": "text=#",
    "model": f"view=model#{STORY}",
    "model-short": "model=sentiment-encoder&view=model#text=Bad",
    "head": f"view=attention&layer=3&head=2&query=3&key=1#{STORY}",
    "unmasked": f"view=attention&compare=on&pad=2#{STORY}",
    "branches": f"view=model&drawer=generation#{STORY}",
    "tree": f"view=model&prompt=14&drawer=generation#{WRITTEN}",
    "roles": f"view=attention&drawer=labels#{STORY}",
    "ranked": f"view=model&drawer=rank#{STORY}",
    "keys": f"view=model&layer=5&head=5&drawer=rank&rank.shows=keys#{STORY}",
    "patched": f"view=model&drawer=rank&rank.shows=patch#{STORY}&rank.source={STORY[5:].replace('car', 'ball')}",
    "examples": f"view=model&drawer=examples#{STORY}",
    "classes": f"model=sentiment-encoder&view=model#{REVIEW}",
    "batch": f"model=sentiment-encoder&view=attention&drawer=batch#{REVIEW}",
    "translation": f"model=translate-enja&view=model#{SOLD}",
    "cross": f"model=translate-enja&view=attention&layer=2&head=7#{SOLD}",
    "picture": f"model=digits-vit&view=model#{PIXELS}",
    "embedding": f"{ALONE}&view=embedding#{CAT}",
    "ffn": f"view=ffn#{CAT}",
    "prediction": f"view=prediction#{CAT}",
    "training": f"{ALONE}&view=training#{CAT}",
    "walk": f"{ALONE}&view=computation#{CAT}",
    "rotation": f"model=mini-rotary&{ALONE}&view=rotation#{CAT}",
    "gate": f"model=mini-aft-full&{ALONE}&view=gate#{CAT}",
    "beside": f"model=mini-softmax&{ALONE}&view=attention&beside={quote(json.dumps({'model': 'mini-rotary'}))}#{CAT}",
    "lesson": "lesson=masks&step=2#",
}
"""Their addresses, without the language."""

SIZES = {
    "1440": {"width": 1440, "height": 1000},
    "1280": {"width": 1280, "height": 720},
    "390": {"width": 390, "height": 844},
}
DEVICES: dict[str, tuple[dict[str, Any], tuple[str, ...], int]] = {
    "desktop": ({"has_touch": False}, ("1440", "1280"), 24),
    "phone": ({"has_touch": True, "is_mobile": True}, ("390",), 44),
}
"""Options of its context, its sizes, and the least size of what can be pressed."""


def opened(page: Page, state: str, lang: str) -> None:
    """Opens a state and waits until it is drawn. After the first, the page follows its address, as after Back."""
    query, _, text = STATES[state].partition("#")
    address = f"/?{query}#{text}"
    if page.evaluate("(lang) => document.documentElement.lang === lang && 'state' in document.body.dataset", lang):
        model = page.evaluate("async () => (await (await fetch('/api/models')).json()).default")
        page.evaluate(FOLLOW, [address, model])
    else:
        query = "&".join(filter(None, [query, f"lang={lang}"]))
        page.goto(f"/?{query}#{text}")
    if state == "empty":
        page.wait_for_selector('body[data-state="empty"]')
    else:
        settled(page)
