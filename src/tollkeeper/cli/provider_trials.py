"""What a trial of a provider account came to, said line by line."""

from tollkeeper.cli.speak import complain, say
from tollkeeper.office.provider_trials import ProviderTrial


def say_trial(name: str, trial: ProviderTrial) -> None:
    if not trial.key_accepted:
        complain(f"{name}: {trial.told}.")
        return
    say(f"{name}: {trial.told}." + (" It is no longer suspended." if trial.suspension_lifted else ""))
    if trial.model is None:
        say("It serves no chat model of the catalog, so no call was made. Add one with `tollkeeper model add`.")
        return
    say(f"Small calls of {trial.model}, at the provider's price:")
    for finding in trial.findings:
        say(f"  {'✓' if finding.works else '✗'} {finding.what}: {finding.detail}")
