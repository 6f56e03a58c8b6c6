"""The icons of Tabler that the console shows: names, with spaces between them."""

ICONS = """
    home chart-bar key credit-card-pay receipt-2 tags message-circle users-group bell shield-lock building-bridge-2
    language moon sun device-laptop device-mobile circle-check circle-dashed circle-x alert-triangle info-circle copy
    download plus trash edit player-pause player-play player-stop refresh rotate-clockwise search filter x check
    chevron-left chevron-right chevron-down arrow-right external-link logout login mail lock lock-open qrcode
    fingerprint user clock calendar printer gift ticket coin wallet cash droplet send photo code terminal-2 file-text
    history link eye dots world speakerphone help-circle settings menu-2 server-2 cpu users ban webhook palette
    adjustments report-money message-report clock-play scale affiliate heart-rate-monitor list-search
"""
