package sqlcrun

import "runtime/debug"

const (
	sqlcModule = "github.com/sqlc-dev/sqlc"
	// required is the version in go.mod, for builds that carry no list of modules; a test compares the two.
	required = "v1.31.1"
)

// Version is the version of sqlc that this build holds.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return required
	}
	for _, m := range info.Deps {
		if m.Path != sqlcModule {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			return m.Replace.Version
		}
		return m.Version
	}
	return required
}
