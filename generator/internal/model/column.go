package model

// ColumnClass is what a column can hold, as its DDL tells: the types of sqlc's making do not tell a DECIMAL from a text, or a
// date from a time.
type ColumnClass int

// The classes of column.
const (
	// OtherColumn is every type that some value of a payload would lose something in: a DECIMAL rounds, a date forgets the hour,
	// a timestamp without a zone forgets the zone. Of such a column nothing can be said but its name.
	OtherColumn ColumnClass = iota
	TextColumn
	EnumColumn
	IntegerColumn
	FloatColumn
	BoolColumn
	UUIDColumn
	BytesColumn
	TimeColumn // an instant, to the microsecond
	JSONColumn
	UntypedColumn // SQLite's without a type: it keeps what it is given
)

// ColumnType is a column's type.
type ColumnType struct {
	Text     string // as the DDL writes it, more or less
	Class    ColumnClass
	Bits     int // of integers and floats, and of bytes of a fixed length
	Unsigned bool
}
