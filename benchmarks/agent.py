"""How much CPU the agent loop takes for a model call and a tool call, beyond the transport.

    python benchmarks/agent.py [--json | --profile]

A server of its own process answers at once on the loopback. Three workflows of agents ask it: one
with a single call each, one with a tool call between two, and one with four. What they differ by
is what a call costs. The same requests are then sent by the transport alone.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import statistics
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

TASKS = 50
SAMPLES = 5
TOOLS_IN_A_TURN = (0, 1, 4)
MODEL_MS_MAX = 3.0
TOOL_MS_MAX = 1.5
ECHO = {
    "kind": "builtin.echo",
    "description": "Says it again.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object"},
    "capability": "echo",
    "risk": "low",
    "effectClass": "pure",
    "idempotency": "pure",
    "retrySafe": True,
    "timeoutSeconds": 5,
    "approval": "never",
}


class _Answers(BaseHTTPRequestHandler):
    """Asks for as many tool calls as the model's name says, and then ends."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        over = any(one["role"] == "tool" for one in asked["messages"])
        message: dict[str, Any] = {"role": "assistant", "content": "Done."}
        count = 0 if over else int(asked["model"])
        if count:
            message["tool_calls"] = [
                {
                    "id": f"c{number}",
                    "type": "function",
                    "function": {"name": "echo", "arguments": '{"text":"hello"}'},
                }
                for number in range(count)
            ]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if count else "stop",
        }
        usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
        body = json.dumps({"id": "r", "model": "m", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def serve() -> int:
    """Answer until the process is ended; the port is the first line."""
    server = HTTPServer(("127.0.0.1", 0), _Answers)
    print(server.server_port, flush=True)
    server.serve_forever()
    return 0


def workflow(url: str, tools: int) -> dict[str, Any]:
    """Return a workflow of agents, one after the other."""
    return {
        "apiVersion": "agentctl.dev/v1",
        "kind": "Workflow",
        "metadata": {"name": "agents"},
        "spec": {
            "policy": {
                "approval": "never",
                "networkAllowlist": ["127.0.0.1"],
                "network": {"allowPrivate": True},
            },
            "providers": {"p": {"kind": "openai_compatible", "endpoint": url}},
            "tools": {"echo": ECHO},
            "agents": {
                "a": {
                    "provider": "p",
                    "model": str(tools),
                    "instructions": "Answer in one sentence.",
                    "tools": ["echo"],
                }
            },
            "tasks": [
                {"id": f"t{number}", "uses": "agent:a", "with": {"prompt": f"Say {number}."}}
                for number in range(TASKS)
            ],
        },
    }


def run_seconds(url: str, tools: int, profile: cProfile.Profile | None = None) -> float:
    """Return the CPU of one run of a workflow."""
    from agentctl import Engine

    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder) / "state.db", workspace=folder)
        loaded = engine.load(workflow(url, tools))
        if profile is not None:
            profile.enable()
        begun = process_time()
        outcome = engine.start_sync(loaded)
        taken = process_time() - begun
        if profile is not None:
            profile.disable()
        engine.close()
    if outcome.exit_code:
        raise SystemExit(f"the run did not succeed: {outcome.error}")
    return taken


def transport_seconds(url: str) -> float:
    """Return the CPU of the same number of requests, sent by the transport alone."""
    from agentctl.effects.models.transport import Post, Transport
    from agentctl.effects.network import NetworkPolicy, parse_url

    spec = workflow(url, 0)["spec"]
    policy = NetworkPolicy.from_definitions({"policy": spec["policy"]})
    message = {"role": "user", "content": "Say 1."}
    post = Post(
        target=parse_url(f"{url}/v1/chat/completions"),
        headers={"content-type": "application/json", "accept-encoding": "identity"},
        content=json.dumps({"model": "0", "messages": [message], "tools": [ECHO]}).encode(),
        cap_bytes=1 << 20,
    )

    async def ask() -> float:
        begun = process_time()
        for _ in range(TASKS):
            async with Transport(policy=policy).post(post) as answer:
                await answer.read()
        return process_time() - begun

    return asyncio.run(ask())


def measure(url: str) -> dict[str, float]:
    """Return milliseconds of CPU for a model call, a tool call and the transport."""
    run_seconds(url, 1)
    runs = {n: [run_seconds(url, n) for _ in range(SAMPLES)] for n in TOOLS_IN_A_TURN}
    wire = statistics.median(transport_seconds(url) for _ in range(SAMPLES))
    plain, one, four = (statistics.median(runs[n]) * 1000 / TASKS for n in TOOLS_IN_A_TURN)
    transport = wire * 1000 / TASKS
    tool = (four - one) / 3
    return {
        "transportMs": transport,
        # A whole task with its one call, so that nothing is left out.
        "modelMs": plain - transport,
        "laterModelMs": one - plain - tool - transport,
        "toolMs": tool,
    }


def main(arguments: list[str]) -> int:
    """Measure and print; return 1 when a bound is passed."""
    if arguments == ["serve"]:
        return serve()
    command = [sys.executable, str(Path(__file__).resolve()), "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            if arguments == ["--profile"]:
                return _profile(url)
            found = measure(url)
        finally:
            server.terminate()
    if arguments == ["--json"]:
        print(json.dumps(found))
        return 0
    print(f"transport of a call              {found['transportMs']:6.2f} ms of CPU")
    print(
        f"a task with its model call       {found['modelMs']:6.2f} ms more, at most {MODEL_MS_MAX:g}"
    )
    print(f"another model call of the task   {found['laterModelMs']:6.2f} ms more")
    print(f"a tool call                      {found['toolMs']:6.2f} ms, at most {TOOL_MS_MAX:g}")
    return int(found["modelMs"] > MODEL_MS_MAX or found["toolMs"] > TOOL_MS_MAX)


def _profile(url: str) -> int:
    run_seconds(url, 1)
    profile = cProfile.Profile()
    run_seconds(url, 4, profile)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(60)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
