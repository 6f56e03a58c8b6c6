"""How calls end and how they were counted, in plain words. Each ending has a colour of its own (`end-cut`)."""

from collections.abc import Mapping

from tollkeeper.console.words import marked
from tollkeeper.core.money.charge import Ending, UsageSource

# On a tag.
SHORT: Mapping[Ending, str] = {
    Ending.COMPLETED: marked("completed"),
    Ending.UPSTREAM_BROKE: marked("provider broke off"),
    Ending.CLIENT_LEFT: marked("you hung up"),
    Ending.CUT: marked("connection time was up"),
    Ending.TIME_LIMIT: marked("ran too long"),
    Ending.QUOTA_RAN_OUT: marked("quota ran out"),
    Ending.MAX_CHARGE: marked("your limit was reached"),
    Ending.REVOKED: marked("key revoked"),
    Ending.NODE_STOPPED: marked("our server stopped"),
    Ending.REFUSED: marked("refused"),
    Ending.OWNER_DIED: marked("our server failed"),
}
WHOLE: Mapping[Ending, str] = {
    Ending.COMPLETED: marked("The answer was delivered whole."),
    Ending.UPSTREAM_BROKE: marked("The provider broke off in the middle. What was delivered until then is charged."),
    Ending.CLIENT_LEFT: marked("You hung up before the end. What was produced until then is charged."),
    Ending.CUT: marked("The main address cut the connection at its time limit. The call went on without you."),
    Ending.TIME_LIMIT: marked("The call ran for as long as a call may, and was ended."),
    Ending.QUOTA_RAN_OUT: marked("Your quota ran out in the middle of the answer. You owe nothing beyond it."),
    Ending.MAX_CHARGE: marked("The answer was ended at the most that you allowed it to cost (x-max-charge-usd)."),
    Ending.REVOKED: marked("The key was revoked, or the account disabled, while the answer was on its way."),
    Ending.NODE_STOPPED: marked("Our server was stopped before the end of the answer."),
    Ending.REFUSED: marked("No answer was delivered, so nothing is charged."),
    Ending.OWNER_DIED: marked("Our server failed. The call was settled from what was known, at most what was held."),
}
COUNTED: Mapping[UsageSource, str] = {
    UsageSource.PROVIDER: marked("By the report of the provider."),
    UsageSource.COUNTED: marked("Input and output counted by us as they passed: the provider did not report them."),
    UsageSource.COUNTED_INPUT: marked("Only the input, counted by us: no output was seen."),
    UsageSource.MEASURED: marked("Images, characters or seconds, counted by us."),
    UsageSource.JOURNAL: marked("From the journal of the process that served the call."),
    UsageSource.CHECKPOINT: marked("From the last checkpoint of the call."),
    UsageSource.NONE: marked("Nothing was counted."),
}
# What became of an attempt, where it did not end as its call did.
ATTEMPTS: Mapping[str, str] = {
    "unreachable": marked("no connection"),
    "silent": marked("no answer in time"),
    "stalled": marked("the answer stopped coming"),
    "broken": marked("the connection broke"),
    "too_long": marked("ran too long"),
}
