"""The documentation site: the Markdown pages of this repository, in the order of docs/site.toml, as plain HTML.

    docs, README.md … ──► pages (which files, and where they lie) ──┐
    docs/site.toml    ──► nav (their order) ────────────────────────┴──► zensical ──► dist/site ──► links (checked)

`python -m tools.site` builds it into dist/site; `--to FOLDER` elsewhere.
"""
