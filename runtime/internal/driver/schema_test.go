package driver

import "testing"

func TestSchemaClass(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]Class{
		"42P01": Misfit, // undefined_table
		"42703": Misfit, // undefined_column
		"42P10": Misfit, // invalid_column_reference: no unique constraint to conflict with
		"3F000": Misfit, // invalid_schema_name
		"42501": Denied, // insufficient_privilege
		"22021": NoRoom, // character_not_in_repertoire
		"22P05": NoRoom, // untranslatable_character
		"54000": NoRoom, // program_limit_exceeded
		"22012": Other,  // division_by_zero
		"23514": Other,  // check_violation
		"25006": Other,  // read_only_sql_transaction
		"":      Other,
		"42":    Other,
		"42P05": Other, // duplicate_prepared_statement
	} {
		if got := SchemaClass(state); got != want {
			t.Errorf("%q: got %d", state, got)
		}
	}
}
