"""Documents with one problem each, by the name of the case.

In the texts `«` marks where the diagnostic must point; it is taken out before reading.
"""

from __future__ import annotations

HEAD = """\
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: {name: test}
spec:
"""
ASSIGN = """\
  actions:
    assign: {kind: builtin.assign}
    remember: {kind: builtin.memory.write}
    recall: {kind: builtin.memory.read}
    write: {kind: builtin.write}
"""
AGENT = """\
  providers:
    fake: {kind: fake}
  agents:
    helper: {provider: fake, model: m, instructions: hi}
"""
TOOL = """\
  tools:
    look:
      kind: builtin.workspace.read
      description: reads
      inputSchema: {type: object}
      outputSchema: {type: object}
      capability: filesystem.read
      risk: low
      effectClass: observe
      idempotency: idempotent
      retrySafe: true
      timeoutSeconds: 5
"""
RUN = "  tasks:\n    - {id: a, uses: action:run}\n"
HERE = "  tasks:\n    - {id: a, uses: action:assign}\n"

CASES = {
    "duplicate ids": (
        "duplicate_task",
        ASSIGN + HERE + "    - {id: «a, uses: action:assign}\n",
        "spec.tasks[0]",
    ),
    "an unknown need": (
        "missing_reference",
        ASSIGN + HERE + "    - {id: b, uses: action:assign, needs: [«aa]}\n",
        "did you mean 'a'?",
    ),
    "an unknown action": (
        "missing_reference",
        ASSIGN + "  tasks:\n    - {id: a, uses: «action:asign}\n",
        "did you mean 'assign'?",
    ),
    "a wrong form of use": (
        "missing_reference",
        ASSIGN + "  tasks:\n    - {id: a, uses: «actoin:assign}\n",
        "did you mean 'action:assign'?",
    ),
    "a bare name": (
        "missing_reference",
        ASSIGN + "  tasks:\n    - {id: a, uses: «assign}\n",
        "did you mean 'action:assign'?",
    ),
    "a name of another form": (
        "missing_reference",
        AGENT + "  tasks:\n    - {id: a, uses: «action:helper}\n",
        "'agent:helper'",
    ),
    "a team": (
        "migration_required",
        ASSIGN + "  tasks:\n    - {id: a, uses: «team:crew}\n",
        "its own agent task",
    ),
    "a cycle": (
        "dependency_cycle",
        ASSIGN
        + "  tasks:\n    - {id: a, uses: action:assign, needs: [«b]}\n"
        + "    - {id: b, uses: action:assign, needs: [a]}\n",
        "remove one",
    ),
    "workflows that invoke each other": (
        "dependency_cycle",
        ASSIGN
        + "  subworkflows:\n"
        + "    one: {version: 1.0.0, tasks: [{id: x, uses: «workflow:two}]}\n"
        + "    two: {version: 1.0.0, tasks: [{id: y, uses: workflow:one}]}\n"
        + HERE,
        "bounded `loop`",
    ),
    "an inverse without effect": (
        "incompatible_state",
        ASSIGN
        + "  tasks:\n    - {id: a, uses: action:write, with: {path: p, content: c},\n"
        + "       compensate: {uses: «action:assign, with: {}}}\n",
        "must change something",
    ),
    "an output that the task does not need": (
        "invalid_template",
        ASSIGN
        + HERE
        + "    - id: b\n      uses: action:assign\n"
        + '      with: {x: «"${{ tasks.a.output.output }}"}\n',
        "add a to the needs of b",
    ),
    "a malformed template": (
        "invalid_template",
        ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + '      with: {x: «"${{ inputs.a[0] }}"}\n',
        None,
    ),
    "a condition around text": (
        "invalid_template",
        ASSIGN + "  tasks:\n    - {id: a, uses: action:assign, when: «inputs.ready}\n",
        "write ${{ inputs.ready }}",
    ),
    "an unknown input": (
        "missing_reference",
        "  inputs: {name: x}\n"
        + ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + '      with: {x: «"${{ inputs.nmae }}"}\n',
        "did you mean 'name'?",
    ),
    "an unknown variable": (
        "missing_reference",
        "  vars: {region: eu}\n"
        + ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + '      with: {x: «"${{ vars.regoin }}"}\n',
        "did you mean 'region'?",
    ),
    "an unknown memory key": (
        "missing_reference",
        "  memory: {working: {count: 0}}\n"
        + ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + '      with: {x: «"${{ memory.coutn }}"}\n',
        "did you mean 'count'?",
    ),
    "an unknown task in the outputs": (
        "missing_reference",
        '  outputs: {x: «"${{ tasks.b.output }}"}\n' + ASSIGN + HERE,
        "known: a",
    ),
    "a reserved variable": (
        "reserved_name",
        "  vars: {loopIndex: «1}\n" + ASSIGN + HERE,
        "choose another name",
    ),
    "a binding that hides a variable": (
        "reserved_name",
        "  vars: {thing: 1}\n"
        + ASSIGN
        + "  tasks:\n    - {id: a, uses: action:assign, foreach: {items: [1], as: «thing}}\n",
        "choose another name",
    ),
    "too many items": (
        "invalid_expansion",
        ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + "      foreach:\n        maxItems: 2\n        «items: [1, 2, 3]\n",
        "raise foreach.maxItems",
    ),
    "an axis without values": (
        "invalid_expansion",
        ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + "      matrix:\n        axes:\n          «os: []\n",
        "nothing runs",
    ),
    "a loop with a condition": (
        "invalid_expansion",
        ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + '      when: «"${{ inputs.x }}"\n'
        + '      loop: {maxIterations: 2, while: "${{ vars.loopIndex < 1 }}"}\n',
        "before every iteration",
    ),
    "a destination that does not need its router": (
        "invalid_router",
        ASSIGN
        + HERE
        + "    - id: r\n      uses: router\n"
        + '      route: {select: "${{ inputs.x }}", cases: [{equals: 1, tasks: [«a]}]}\n',
        "add r to the needs of a",
    ),
    "a case that stands twice": (
        "invalid_router",
        ASSIGN
        + "  tasks:\n    - id: r\n      uses: router\n"
        + '      route:\n        select: "${{ inputs.x }}"\n'
        + "        cases:\n          - {equals: 1, tasks: [a]}\n"
        + "          - {equals: «1.0, tasks: []}\n"
        + "    - {id: a, uses: action:assign, needs: [r]}\n",
        "merge the two cases",
    ),
    "an unknown destination": (
        "missing_reference",
        ASSIGN
        + "  tasks:\n    - id: r\n      uses: router\n"
        + '      route: {select: "${{ inputs.x }}", cases: [], default: [«ship]}\n'
        + "    - {id: shop, uses: action:assign, needs: [r]}\n",
        "did you mean 'shop'?",
    ),
    "an invalid schema": (
        "invalid_schema",
        ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:assign\n"
        + "      outputSchema: {type: «objekt}\n",
        None,
    ),
    "fixed values that a sub-workflow refuses": (
        "schema_violation",
        ASSIGN
        + "  subworkflows:\n    one:\n      version: 1.0.0\n"
        + "      inputSchema: {type: object, properties: {n: {type: integer}}}\n"
        + "      tasks: [{id: x, uses: action:assign}]\n"
        + "  tasks:\n    - {id: a, uses: workflow:one, with: {n: «text}}\n",
        None,
    ),
    "answers mended against no schema": (
        "schema_violation",
        AGENT.replace("instructions: hi", "instructions: hi, maxRepairTurns: «2")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "add a structuredOutput",
    ),
    "reasoning on a provider without it": (
        "unsupported_capability",
        AGENT.replace("instructions: hi", "instructions: hi, «reasoning: {effort: high}")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "another provider",
    ),
    "an unknown provider option": (
        "unsupported_capability",
        AGENT.replace("instructions: hi", "instructions: hi, providerOptions: {finalTxt: «x}")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "did you mean 'finalText'?",
    ),
    "an unknown provider": (
        "missing_reference",
        AGENT.replace("provider: fake", "provider: «fade")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "did you mean 'fake'?",
    ),
    "an unknown tool": (
        "missing_reference",
        TOOL
        + AGENT.replace("instructions: hi", "instructions: hi, tools: [«lock]")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "did you mean 'look'?",
    ),
    "a tool that is declared as less than it is": (
        "unsupported_capability",
        TOOL.replace("effectClass: observe", "effectClass: «pure") + ASSIGN + HERE,
        "write effectClass: observe",
    ),
    "a secret file outside the roots": (
        "invalid_secret_reference",
        AGENT.replace("{kind: fake}", "{kind: fake, credential: {file: «secrets/key}}")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "policy.secretFileRoots",
    ),
    "a secret program that is not listed": (
        "invalid_secret_reference",
        AGENT.replace("{kind: fake}", "{kind: fake, credential: {process: {command: «/bin/pass}}}")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "add pass to",
    ),
    "a program that is not listed": (
        "policy_denied",
        "  actions: {run: {kind: builtin.shell.exec, command: «/bin/rm}}\n" + RUN,
        "add rm to policy.processAllowlist",
    ),
    "an unknown server": (
        "missing_reference",
        "  mcpServers: {local: {url: 'http://127.0.0.1:1/mcp'}}\n"
        "  actions: {run: {kind: mcp.call, with: {tool: t}}}\n"
        + RUN.replace("action:run", "action:run, with: {server: «locl}"),
        "did you mean 'local'?",
    ),
    "a variable that the policy does not list": (
        "policy_denied",
        "  policy: {processAllowlist: [ls]}\n"
        "  actions:\n    run: {kind: builtin.shell.exec, command: ls,"
        " env: {«TOKEN: {env: TOKEN}}}\n" + RUN,
        "add TOKEN to policy.environmentAllowlist",
    ),
    "a provider that is not listed": (
        "policy_denied",
        "  policy: {providers: [other]}\n"
        + AGENT.replace("provider: fake", "provider: «fake")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "policy.providers",
    ),
    "more tasks than the budget": (
        "budget_exceeded",
        "  runtime: {budgets: {maxTasks: «1}}\n"
        + ASSIGN
        + HERE
        + "    - {id: b, uses: action:assign}\n",
        "raise maxTasks",
    ),
    "more items than the budget": (
        "budget_exceeded",
        "  runtime: {budgets: {maxExpansionItems: «1}}\n"
        + ASSIGN
        + "  tasks:\n    - {id: a, uses: action:assign, foreach: {items: [1, 2]}}\n",
        "raise maxExpansionItems",
    ),
    "a cost limit without a price": (
        "missing_reference",
        "  runtime: {budgets: {maxCostMicrousd: «5}}\n"
        + AGENT
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        "fake/m",
    ),
    "two writers of a key that may race": (
        "memory_conflict",
        "  runtime: {maxConcurrency: 2}\n"
        + ASSIGN
        + "  tasks:\n    - {id: a, uses: action:remember, with: {key: k, value: 1}}\n"
        + "    - {id: b, uses: action:remember, with: {key: «k, value: 2}}\n",
        "let one need the other",
    ),
    "a key that only a run can tell": (
        "memory_conflict",
        ASSIGN
        + "  tasks:\n    - id: a\n      uses: action:remember\n"
        + '      with: {key: «"${{ inputs.k }}", value: 1}\n',
        "`memoryWrites`",
    ),
    "a dynamic key in a sub-workflow": (
        "memory_conflict",
        ASSIGN
        + "  subworkflows:\n    one:\n      version: 1.0.0\n      tasks:\n"
        + '        - {id: x, uses: action:recall, with: {key: «"${{ inputs.k }}"}}\n'
        + "  tasks:\n    - {id: a, uses: workflow:one, with: {k: z}}\n",
        "its own memory",
    ),
    "a variable file that is not there": (
        "source_error",
        "  varsFiles: [«missing.yaml]\n" + ASSIGN + HERE,
        None,
    ),
    "an instruction file that is not there": (
        "source_error",
        AGENT.replace("instructions: hi", "instructionsFile: «missing.md")
        + "  tasks:\n    - {id: a, uses: agent:helper}\n",
        None,
    ),
    "a pack that is not there": (
        "pack_error",
        "  packs:\n    - name: p\n      version: ^1.0\n      «source: {path: p.yaml}\n"
        + ASSIGN
        + HERE,
        None,
    ),
}
