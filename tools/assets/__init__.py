"""What browsers load, from npm into the package: `python -m tools.assets`.

Rules of this file
1. The versions are those of `package-lock.json`, with their hashes; scripts of packages are not run.
2. What is made here is committed: neither installing nor running the service needs Node.
3. An icon that a template names stands in ICONS.
"""
