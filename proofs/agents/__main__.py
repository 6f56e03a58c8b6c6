"""prove-agents: Claude Code and Codex read a file, edit it and finish, through the gateway.

Each does it with a model of every vendor: of the one whose protocol it speaks, and of those to which its calls are
translated. The simulators play the model. The account that is asked first fails once, a stream breaks off once in the
middle. What comes from a vendor's cache is what its account was sent before. The file is right at the end, and every
call is charged what the simulators say that they made, to the unit.
"""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from proofs.agents.evidence import AgentReceipt, TruthRow, settled, truths
from proofs.agents.market import MODELS, SoldModel, customers, furnish
from proofs.agents.programs import Outcome, a_desk, do
from proofs.agents.tasks import USES, task
from proofs.rig.checks import Check
from proofs.rig.customers import PROVIDER_KEY, Customer
from proofs.rig.deployment import books_are_clean, deployment
from proofs.rig.proof import Run, prove, say
from proofs.rig.sdks.environments import make_all
from proofs.rig.sdks.theatre import finish
from tools.node import Node
from tools.simulator import Simulator

AGENTS = tuple(USES)
NATIVE = {"claude-code": "anthropic", "codex": "openai"}
# Reading, editing, finishing.
TURNS_LEAST = 3
# Our count of an input that was translated, against the provider's of the original.
COUNT_MAY_DIFFER = 0.02


class AgentRun(msgspec.Struct, frozen=True):
    """One agent with the model of one vendor."""

    agent: str
    model: SoldModel
    customer: Customer
    outcome: Outcome

    @property
    def name(self) -> str:
        return f"{self.agent} with {self.model.id}"

    @property
    def is_translated(self) -> bool:
        return NATIVE[self.agent] != self.model.vendor


def main(run: Run) -> int:
    say("getting the agents")
    make_all(AGENTS)
    with ExitStack() as stack:
        settings = deployment(stack)
        simulators = {name: stack.enter_context(Simulator(key=PROVIDER_KEY, name=name)) for name in ("one", "two")}
        furnish(settings, simulators)
        node = stack.enter_context(Node(settings))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-agents-")))
        runs = _runs(settings, node, place)
        receipts = settled(settings["TOLLKEEPER_DATABASE_URL"])
        made = truths(simulators.values())
        checks = [*_judged(runs, receipts, made), Check("the books are clean", books_are_clean(settings))]
    _tell(run, runs, receipts, made)
    return finish(run, checks)


def _runs(settings: Mapping[str, str], node: Node, place: Path) -> list[AgentRun]:
    named = {f"{agent}-{model.id}": (agent, model) for agent in AGENTS for model in MODELS}
    keys = customers(settings, list(named))
    runs = []
    for name, (agent, model) in named.items():
        desk = a_desk(place / name)
        wanted = task(agent, name, desk.folder, model.writes)
        outcome = do(agent, desk, node.base, keys[name].key, model.id, wanted)
        runs.append(AgentRun(agent, model, keys[name], outcome))
        say(f"{agent} with {model.id}: {'done' if outcome.is_done else 'NOT DONE: ' + outcome.said[-2000:]}")
    return runs


def _judged(runs: Sequence[AgentRun], receipts: Sequence[AgentReceipt], made: Mapping[str, TruthRow]) -> list[Check]:
    checks = []
    for each in runs:
        own = [receipt for receipt in receipts if receipt.key_id == each.customer.key_id]
        wrong = [receipt for receipt in own if receipt.charged != _due(each.model, receipt, made)]
        checks += [
            Check(f"{each.name}: the file is right", each.outcome.is_done, each.outcome.said[-500:]),
            Check(f"{each.name}: read, edited, finished", len(own) >= TURNS_LEAST, str(own)),
            Check(
                f"{each.name}: charged to the unit", not wrong, str([(one, made.get(one.request_id)) for one in wrong])
            ),
            Check(f"{each.name}: counted well", all(_is_counted_well(each.model, one, made) for one in own), str(own)),
            Check(f"{each.name}: met its cache", any(_cached(one, made) for one in own), str(own)),
            Check(f"{each.name}: wrote its cache", _wrote(each.model, own, made), str(own)),
            Check(f"{each.name}: failed over", any(receipt.attempts > 1 for receipt in own), str(own)),
            Check(f"{each.name}: broke off once", any(one.ending == "upstream_broke" for one in own), str(own)),
        ]
    known = {receipt.request_id for receipt in receipts}
    checks.append(Check("nothing was made without a receipt", made.keys() <= known, str(made.keys() - known)))
    return checks


def _cached(receipt: AgentReceipt, made: Mapping[str, TruthRow]) -> int:
    truth = made.get(receipt.request_id)
    return 0 if truth is None else truth.cached_tokens


def _wrote(model: SoldModel, own: Sequence[AgentReceipt], made: Mapping[str, TruthRow]) -> bool:
    """Whether caches of both lives were written, where the model's turns write any."""
    truths_of = [made[receipt.request_id] for receipt in own if receipt.request_id in made]
    written = [(truth.written_5m, truth.written_1h) for truth in truths_of]
    return not model.writes or all(any(each) for each in zip(*written, strict=True))


def _due(model: SoldModel, receipt: AgentReceipt, made: Mapping[str, TruthRow]) -> int:
    truth = made.get(receipt.request_id)
    if truth is None:
        return 0
    if _is_counted(model, receipt):
        truth = msgspec.structs.replace(truth, input_tokens=receipt.input_units, cached_tokens=0)
    return model.charge(truth)


def _is_counted(model: SoldModel, receipt: AgentReceipt) -> bool:
    """Whether nobody has told its input but ourselves."""
    return model.tells_input_last and receipt.usage_source == "counted"


def _is_counted_well(model: SoldModel, receipt: AgentReceipt, made: Mapping[str, TruthRow]) -> bool:
    truth = made.get(receipt.request_id)
    if truth is None or not _is_counted(model, receipt):
        return True
    return abs(receipt.input_units - truth.input_tokens) <= truth.input_tokens * COUNT_MAY_DIFFER


def _tell(run: Run, runs: Sequence[AgentRun], receipts: Sequence[AgentReceipt], made: Mapping[str, TruthRow]) -> None:
    models = {each.customer.key_id: each.model for each in runs}
    done = [agent for agent in AGENTS if all(each.outcome.is_done for each in runs if each.agent == agent)]
    completed = [receipt for receipt in receipts if receipt.ending == "completed"]
    heard = sum(truth.input_tokens for truth in made.values())
    run.figures |= {
        "agents": f"{len(done)}/{len(AGENTS)}",
        "turns": len(completed),
        "calls": len(receipts),
        "diff": sum(abs(receipt.charged - _due(models[receipt.key_id], receipt, made)) for receipt in receipts),
        "cache_hit_share": f"{sum(truth.cached_tokens for truth in made.values()) / heard:.2f}" if heard else "-",
        "translated": "ok" if all(each.outcome.is_done for each in runs if each.is_translated) else "wrong",
    }


if __name__ == "__main__":
    prove(main, "agents", "turns", "calls", "diff", "cache_hit_share", "translated")
