module reins/interop

go 1.25.0

// Replaced by a workspace: docs/parts.md says how.
require github.com/digitallysavvy/go-ai v0.0.0
