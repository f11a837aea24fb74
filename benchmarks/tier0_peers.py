"""One peer engine on the conditions of `tier0.py`, read from standard input; prints CPU microseconds a decision.

Every peer is given the index by action type that ours has, and one conversion of the values a decision.
"""

import json
import logging
import re
import statistics
import sys
import time


def cel_python(conditions, values):
    import celpy

    logging.disable(logging.CRITICAL)
    environment = celpy.Environment()
    programs = [environment.program(environment.compile(text)) for text in conditions]

    def decide():
        converted = {name: celpy.json_to_cel(value) for name, value in values.items()}
        return [bool(program.evaluate(converted)) for program in programs]

    return decide


def common_expression_language(conditions, values):
    import cel

    programs = [cel.compile(text) for text in conditions]

    def decide():
        context = cel.Context(values)
        return [program.execute(context) for program in programs]

    return decide


def cedar(conditions, values):
    import cedarpy

    # Cedar has neither patterns nor quantifiers: the nearest shape that it can say.
    rules = ["permit(principal, action, resource);"]
    for index, text in enumerate(conditions):
        kinds = re.findall(r'"([a-z_]+)"', text.split("&&")[0]) if text.startswith("action") else []
        test = f"{json.dumps(kinds)}.contains(context.type) && " if kinds else ""
        rules.append(f'forbid(principal, action, resource) when {{ {test}context.text like "*secret{index}*" }};')
    policies = cedarpy.PolicySet.from_str("\n".join(rules))
    entities = cedarpy.Entities.from_json_str("[]")
    request = {
        "principal": 'User::"a"',
        "action": 'Action::"b"',
        "resource": 'Resource::"c"',
        "context": {"type": values["action"]["type"], "text": "README.md"},
    }
    return lambda: cedarpy.is_authorized(request, policies, entities)


def governance_toolkit(conditions, values):
    from agent_os.policies.evaluator import PolicyEvaluator
    from agent_os.policies.schema import PolicyDocument

    # A rule of the toolkit compares one field: the pattern, prefix or word of each condition is all that it can say.
    rules = []
    for index, text in enumerate(conditions):
        word = re.findall(r'"([^"]*)"', text)[-1]
        field, operator = ("path", "contains") if "startsWith" in text else ("text", "matches" if "^" in word else "eq")
        test = {"field": field, "operator": operator, "value": word}
        rules.append({"name": f"r{index}", "condition": test, "action": "deny", "priority": index % 10})
    document = PolicyDocument.model_validate({"name": "bench", "rules": rules, "defaults": {"action": "allow"}})
    evaluator = PolicyEvaluator(policies=[document])
    context = {"tool_name": values["action"]["type"], "path": "README.md", "text": "README.md"}
    return lambda: evaluator.evaluate(context)


ENGINES = {
    "cel-python": cel_python,
    "common-expression-language": common_expression_language,
    "cedarpy": cedar,
    "agent-governance-toolkit-core": governance_toolkit,
}


def main():
    work = json.load(sys.stdin)
    kind = work["values"]["action"]["type"]
    conditions = [
        text
        for text in work["conditions"]
        if not text.startswith("action.type") or f'"{kind}"' in text.split("&&", maxsplit=1)[0]
    ]
    decide = ENGINES[sys.argv[1]](conditions, work["values"])
    decide()
    rounds = []
    for _ in range(9):
        calls, begun = 0, time.process_time()
        while time.process_time() - begun < 0.1:
            decide()
            calls += 1
        rounds.append((time.process_time() - begun) / calls * 1e6)
    print(statistics.median(rounds))


main()
