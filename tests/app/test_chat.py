"""Chats: turns as the text that a model's template makes of them, in a process that a hostile template cannot leave."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from httpx import ASGITransport, AsyncClient
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

import chumoku
from chumoku.app.cli.program import cli
from chumoku.app.errors import written
from chumoku.app.main import create_app
from chumoku.app.services import wire
from chumoku.app.settings import Settings
from chumoku.model.traceable.huggingface.chat import Unusable, rendered, why_ended
from chumoku.model.traceable.protocols import ChatTemplate
from tests.toys import huggingface as toys

LLAMA = (
    "{{ bos_token }}{% for message in messages %}{% if message.role not in ['system', 'user', 'assistant'] %}"
    "{{ raise_exception('unknown role: ' + message.role) }}{% endif %}\n"
    "<|start|>{{ message['role'] }}<|end|>\n\n{{ message['content'] | trim }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant<|end|>{% endif %}"
)
"""Of Llama 3's kind: the template writes <s> itself, which the tokenizer also adds to a plain text."""
PER_TURN = (
    "{% for message in messages %}{% if message.role == 'user' %}{{ bos_token + message.content }}"
    "{% else %}{% generation %}{{ message.content + eos_token }}{% endgeneration %}{% endif %}{% endfor %}"
)
"""Of Llama 2's kind: <s> before each user's turn, and none where an assistant begins."""
BARE = "{% for message in messages %}<|start|>{{ message | tojson }}{% endfor %}"
"""Of TinyLlama's kind: without <s>."""
TEMPLATES = {"once": LLAMA, "each turn": PER_TURN, "never": BARE}
TURNS = [
    {"role": "user", "content": "hi <b>you</b>"},
    {"role": "assistant", "content": "yes"},
    {"role": "user", "content": "and </s> now?"},
]


def folder_with(where: Path, template: str) -> Path:
    return toys.save(
        where / "chat", toys.random_numbers(toys.llama(max_position_embeddings=256)), toys.chatting(template)
    )


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return folder_with(tmp_path, TEMPLATES[request.param])


@pytest.mark.parametrize("folder", TEMPLATES, indirect=True)
@pytest.mark.parametrize("prompt", [True, False])
def test_a_chat_is_read_as_transformers_reads_it(folder: Path, *, prompt: bool) -> None:
    theirs = AutoTokenizer.from_pretrained(folder)
    ids = theirs.apply_chat_template(TURNS, add_generation_prompt=prompt, return_dict=False)
    found = chumoku.load(folder, device="cpu").chat(TURNS, generation_prompt=prompt)
    assert [token["id"] for token in found.metadata["tokens"]] == ids
    text = theirs.apply_chat_template(TURNS, add_generation_prompt=prompt, tokenize=False)
    assert found.notes == [], "it was asked for"
    assert found.run["input"] == {"text": text, "special": True, "add_special_tokens": False}


@pytest.mark.parametrize("folder", ["once", "each turn", "never"], indirect=True)
def test_its_tokens_can_be_continued_as_ids(folder: Path) -> None:
    """Without a second <s> at the beginning, and with the later ones."""
    model = chumoku.load(folder, device="cpu")
    chat = model.chat(TURNS)
    ids = [token["id"] for token in chat.metadata["tokens"]]
    again = model.trace(token_ids=ids, add_special_tokens=False)
    assert [token["id"] for token in again.metadata["tokens"]] == ids
    assert torch.equal(again["logits"], chat["logits"])


def test_the_template_is_read_from_either_file(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, LLAMA)
    assert (folder / "chat_template.jinja").is_file(), "as transformers saves it today"
    said = chumoku.load(folder, device="cpu").chat(TURNS).text
    (folder / "chat_template.jinja").unlink()
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    with pytest.raises(ValueError, match="has no chat template"):
        chumoku.load(folder, device="cpu").chat(TURNS)
    for source in (LLAMA, [{"name": "tool_use", "template": BARE}, {"name": "default", "template": LLAMA}]):
        (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": source}))
        assert chumoku.load(folder, device="cpu").chat(TURNS).text == said


FAILING = {
    "time": ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
             "it took longer than 3 seconds of processor time"),
    "memory": ("{% set ns = namespace(x='abcdefgh') %}{% for a in range(40) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
               "it took more than 512 MiB"),
    "length": ("{{ 'a' * 100000 }}", "it makes 100,000 characters, and at most 50,000 are read"),
    "recursion": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "it calls itself without end"),
    "class": ("{{ ''.__class__.__mro__[1].__subclasses__() }}",
              "access to attribute '__class__' of 'str' object is unsafe"),
    "globals": ("{{ raise_exception.__globals__['sys'] }}",
                "access to attribute '__globals__' of 'function' object is unsafe"),
    "changes": ("{{ messages.append(1) }}", "access to attribute 'append' of 'list' object is unsafe"),
    "import": ("{% include '/etc/passwd' %}", "no loader for this environment specified"),
    "syntax": ("{% for %}", "Expected an expression, got 'end of statement block'"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILING)
def test_a_template_that_fails_says_which_limit_or_error(kind: str) -> None:
    source, said = FAILING[kind]
    with pytest.raises(Unusable) as refused:
        rendered(ChatTemplate(source), TURNS, 50_000)
    assert str(refused.value) == said


def test_what_a_template_says_against_turns_is_told_from_its_failures() -> None:
    source = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(ValueError, match=r"^roles must alternate$") as refused:
        rendered(ChatTemplate(source), TURNS, 50_000)
    assert not isinstance(refused.value, Unusable)


@pytest.mark.parametrize(
    ("code", "stderr", "said"),
    [
        (-signal.SIGKILL, "", "the system ended it (SIGKILL), as it does when memory is short"),
        (1, "Traceback …\n  File …\nMemoryError", "it took more than 512 MiB"),
        (1, "Traceback …\nImportError: no jinja2\n", "the process that renders it failed: ImportError: no jinja2"),
        (3, "", "the process that renders it failed: no reason was given"),
    ],
)
def test_a_process_that_ends_without_an_answer_says_why(code: int, stderr: str, said: str) -> None:
    assert why_ended(code, stderr) == said


async def test_the_api_writes_a_chat_and_refuses_what_it_cannot(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, LLAMA)
    app = create_app(Settings(models=(folder,), device="cpu"))
    client = AsyncClient(transport=ASGITransport(app), base_url="http://localhost")
    async with app.router.lifespan_context(app), client as one:
        listed = {about["name"]: about["chat"] for about in (await one.get("/api/models")).json()["models"]}
        assert (listed["chat"], listed["stories-gpt"]) == (True, False)
        answer = await one.post("/api/models/chat/chat", json={"messages": TURNS})
        text = AutoTokenizer.from_pretrained(folder).apply_chat_template(
            TURNS, add_generation_prompt=True, tokenize=False
        )
        assert answer.json()["input"]["text"] == text
        traced = await one.post("/api/trace", json={"model": "chat", "input": answer.json()["input"], "want": []})
        assert wire.metadata_of(traced.content)["run"]["input"] == answer.json()["input"]
        for name, turns, code in (
            ("chat", [{"role": "pirate", "content": "arr"}], "bad_chat"),
            ("stories-gpt", TURNS, "cannot"),
            ("chat", [], "invalid_request"),
            ("nobody", TURNS, "unknown_model"),
        ):
            refused: Any = (await one.post(f"/api/models/{name}/chat", json={"messages": turns})).json()
            assert refused["error"]["code"] == code
            if code == "bad_chat":
                assert "unknown role: pirate" in refused["error"]["message"]
        (folder / "chat_template.jinja").write_text(FAILING["length"][0].replace("100000", "10**7"))
    app = create_app(Settings(models=(folder,), device="cpu"))
    client = AsyncClient(transport=ASGITransport(app), base_url="http://localhost")
    async with app.router.lifespan_context(app), client as one:
        failed = (await one.post("/api/models/chat/chat", json={"messages": TURNS})).json()["error"]
        assert failed["code"] == "broken_template"
        assert failed["got"].startswith("it makes 10,000,000 characters")


def test_the_command_line_reads_a_chat(tmp_path: Path) -> None:
    folder, out = folder_with(tmp_path, LLAMA), tmp_path / "chat.safetensors"
    turns = ["--chat", "system:Be brief.", "--chat", "user: Hi: you"]
    done = CliRunner().invoke(cli, ["trace", *turns, "--model", str(folder), "-o", str(out)])
    assert done.exit_code == 0, done.output
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi: you"}]
    ids = AutoTokenizer.from_pretrained(folder).apply_chat_template(said, add_generation_prompt=True, return_dict=False)
    assert [token["id"] for token in wire.metadata_of(out.read_bytes())["tokens"]] == ids
    about_a_file = CliRunner().invoke(cli, ["trace", "--chat", "user:Hi.json", "--model", str(folder), "-o", str(out)])
    assert about_a_file.exit_code == 0, about_a_file.output
    wrong = CliRunner().invoke(cli, ["trace", "--chat", "Hi", "--model", str(folder), "-o", str(out)])
    assert "use ROLE:TEXT" in wrong.output


def test_the_command_line_answers_a_chat(tmp_path: Path) -> None:
    """From turns or from a file: the greedy answer of transformers to the same prompt."""
    folder, file = folder_with(tmp_path, LLAMA), tmp_path / "turns.json"
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi: you"}]
    file.write_text(json.dumps(said))
    theirs = AutoTokenizer.from_pretrained(folder)
    ids = theirs.apply_chat_template(said, add_generation_prompt=True, return_tensors="pt", return_dict=False)
    model = AutoModelForCausalLM.from_pretrained(folder)
    never = chumoku.load(folder, device="cpu").traceable.tokenizer.never_sampled
    new = model.generate(ids, max_new_tokens=5, do_sample=False, suppress_tokens=sorted(never))[0, ids.shape[1] :]
    tokenizer = chumoku.load(folder, device="cpu").traceable.tokenizer
    expected = b"".join(tokenizer.token_bytes(int(one)) for one in new).decode(errors="replace")
    for turns in (["--chat", "system:Be brief.", "--chat", "user: Hi: you"], ["--chat", str(file)]):
        options = ["--model", str(folder), "-n", "5", "--temperature", "0"]
        done = CliRunner().invoke(cli, ["generate", *turns, *options])
        assert done.exit_code == 0, done.output
        assert done.stdout == f"{written(expected, keep=chr(10) + chr(9))}\n"
    both = CliRunner().invoke(cli, ["generate", "Hi", "--chat", "user:Hi"])
    assert "one of the two" in both.output
    file.write_text("{}")
    assert "list of turns" in CliRunner().invoke(cli, ["generate", "--chat", str(file), "--model", str(folder)]).output
