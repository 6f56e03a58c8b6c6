"""How to connect: what to paste into programs, with this service's addresses in it.

Rules of this file
1. Only programs that speak a protocol which the main address speaks.
2. A key is never filled in: nobody has its text but its owner.
3. Each text is one paste at one place. An agent's is a shell's lines, the last of which starts it: `make prove-agents`
   hands them to a shell as they are.
"""

from collections.abc import Mapping

import msgspec


class ClientProgram(msgspec.Struct, frozen=True):
    slug: str
    name: str
    # `{BASE}` is the main address, `{MODEL}` a model to try.
    text: str


_CURL = """curl {BASE}/v1/chat/completions \\
  -H "Authorization: Bearer YOUR_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "{MODEL}", "messages": [{"role": "user", "content": "Hello"}]}'"""
_PYTHON = """from openai import OpenAI

client = OpenAI(base_url="{BASE}/v1", api_key="YOUR_KEY")
answer = client.chat.completions.create(
    model="{MODEL}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)"""
_JAVASCRIPT = """import OpenAI from "openai";

const client = new OpenAI({ baseURL: "{BASE}/v1", apiKey: "YOUR_KEY" });
const answer = await client.chat.completions.create({
  model: "{MODEL}",
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);"""
# It asks a smaller model for small work; the one that is named here is there.
_CLAUDE_CODE = """export ANTHROPIC_BASE_URL={BASE}
export ANTHROPIC_API_KEY=YOUR_KEY
export ANTHROPIC_DEFAULT_HAIKU_MODEL={MODEL}
claude --model {MODEL}"""
# The whole of its settings for one run. Its settings file would be a second thing to paste, at another place.
_CODEX = """export GATEWAY_API_KEY=YOUR_KEY
codex --model {MODEL} \\
  -c model_provider=gateway \\
  -c model_providers.gateway.name=Gateway \\
  -c model_providers.gateway.base_url={BASE}/v1 \\
  -c model_providers.gateway.env_key=GATEWAY_API_KEY \\
  -c model_providers.gateway.wire_api=responses"""
# Its settings: Model Provider, Add, type OpenAI. It puts /v1 behind the host itself.
_CHERRY_STUDIO = """Settings → Model Provider → + Add → OpenAI
API Key    YOUR_KEY
API Host   {BASE}
Models     {MODEL}"""
_LOBECHAT = """docker run -p 3210:3210 \\
  -e OPENAI_API_KEY=YOUR_KEY \\
  -e OPENAI_PROXY_URL={BASE}/v1 \\
  -e OPENAI_MODEL_LIST=-all,+{MODEL} \\
  lobehub/lobe-chat"""
_OPEN_WEBUI = """docker run -p 3000:8080 -v open-webui:/app/backend/data \\
  -e OPENAI_API_BASE_URL={BASE}/v1 \\
  -e OPENAI_API_KEY=YOUR_KEY \\
  ghcr.io/open-webui/open-webui:main"""

CLIENTS: Mapping[str, ClientProgram] = {
    client.slug: client
    for client in (
        ClientProgram("curl", "curl", _CURL),
        ClientProgram("python", "Python", _PYTHON),
        ClientProgram("javascript", "JavaScript", _JAVASCRIPT),
        ClientProgram("claude-code", "Claude Code", _CLAUDE_CODE),
        ClientProgram("codex", "Codex", _CODEX),
        ClientProgram("cherry-studio", "Cherry Studio", _CHERRY_STUDIO),
        ClientProgram("lobechat", "LobeChat", _LOBECHAT),
        ClientProgram("open-webui", "Open WebUI", _OPEN_WEBUI),
    )
}


def snippet(client: ClientProgram, main_url: str, model: str) -> str:
    return client.text.replace("{BASE}", main_url).replace("{MODEL}", model)
