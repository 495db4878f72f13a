package sqlcrun

import (
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// The codes of this package: IDEM450 to IDEM459.
const (
	CodeRefused diag.Code = "IDEM450" // sqlc does not accept the SQL of a store
	CodeFailed  diag.Code = "IDEM451" // sqlc failed and named no file
	CodeSchema  diag.Code = "IDEM452" // sqlc does not accept the user's schema
)

const issues = "https://github.com/idemgen/idemgen/issues"

// located matches sqlc's "store0/keys.sql:12:3: cause".
var located = regexp.MustCompile(`^store(\d+)[/\\]([^:]+):(\d+):\d+: (.+)$`)

// inSchema matches sqlc's "schema0-1/001_orders.sql:12:3: cause".
var inSchema = regexp.MustCompile(`^schema(\d+)-(\d+)[/\\][^:]+:(\d+):(\d+): (.+)$`)

// reportSchema reports what sqlc refuses of a user's schema, where it stands.
func reportSchema(line string, jobs []Job, diags *diag.List) bool {
	m := inSchema.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	var n [4]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(m[i+1]); err != nil {
			return false
		}
	}
	if n[0] >= len(jobs) || n[1] >= len(jobs[n[0]].Files.UserSchema) {
		return false
	}
	diags.Add(token.Position{Filename: jobs[n[0]].Files.UserSchema[n[1]].Path, Line: n[2], Column: n[3]}, CodeSchema,
		"sqlc compiles transitions against this schema; if the database takes it as it is, name the files that sqlc can read alone with schema=",
		"sqlc refuses the schema: %s", m[5])
	return true
}

// unknownName matches sqlc's complaint about a table or a column.
var unknownName = regexp.MustCompile(`^(relation|column) ".*" does not exist$`)

// refusedMend is what to do about SQL that was held against the schema before sqlc was asked.
func refusedMend(engine, complaint string) string {
	if engine == "sqlite" && unknownName.MatchString(complaint) {
		return "for SQLite sqlc does not find names that the schema has in quotes and with capital letters: write them without quotes there, which SQLite takes for the same"
	}
	return "this SQL is idemgen's own: please report it, with the table's name, at " + issues
}

// report turns what sqlc wrote into diagnostics: one for each place that it names, at what asked for the store; or one
// with all of its text, where it names none.
func report(complaints string, jobs []Job, diags *diag.List) {
	found := false
	for line := range strings.Lines(complaints) {
		if reportSchema(strings.TrimSpace(line), jobs, diags) {
			found = true
			continue
		}
		m := located.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		job, err := strconv.Atoi(m[1])
		if err != nil || job >= len(jobs) {
			continue
		}
		found = true
		diags.Add(jobs[job].Store.Pos, CodeRefused, refusedMend(jobs[job].Store.Engine, m[4]),
			"sqlc refuses %s of package %s, line %s: %s", m[2], jobs[job].Store.ImportPath, m[3], m[4])
	}
	if !found {
		diags.Add(jobs[0].Store.Pos, CodeFailed,
			"if it is not the machine's fault, please report it at "+issues,
			"sqlc failed: %s", strings.Join(strings.Fields(complaints), " "))
	}
}
