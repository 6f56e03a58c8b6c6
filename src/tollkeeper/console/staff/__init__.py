"""Pages of staff, under `/staff`: the office's acts for people.

Rules of this room
1. A page shows and does what an act does, and nothing else: whatever staff can do here, a script can do too.
2. Only what was measured is shown. Where nothing was, there is a dash.
3. These pages are in English: staff are few, and read the commands and the runbook beside them.
"""
