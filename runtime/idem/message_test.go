package idem

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// note is a message of a format that is not JSON: its text, backwards.
type note struct{ text string }

// written is what the format calls a message.
type written interface{ content() *string }

func (n *note) content() *string { return &n.text }

func writeNote(m written) ([]byte, error) {
	if *m.content() == "unwritable" {
		return nil, errors.New("unwritable")
	}
	b := []byte(*m.content())
	slices.Reverse(b)
	return b, nil
}

func readNote(data []byte, m written) error {
	if string(data) == "torn" {
		return errors.New("torn")
	}
	b := slices.Clone(data)
	slices.Reverse(b)
	*m.content() = string(b)
	return nil
}

var noteCodec = MessageCodec[note](writeNote, readNote)

// crossed is a codec such as one that encrypts: JSON, in which every byte is another.
type crossed struct{}

func cross(b []byte) []byte {
	b = slices.Clone(b)
	for i := range b {
		b[i] ^= 0x55
	}
	return b
}

func (crossed) Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return cross(b), err
}

func (crossed) Decode(data []byte, v any) error { return json.Unmarshal(cross(data), v) }

func noteSpec(lease time.Duration) Spec[string] {
	return Spec[string]{
		Name: "notes", Window: time.Hour, Lease: lease, Codec: noteCodec,
		Key: func(e string) (string, error) { return e, nil },
	}
}

func TestMessageResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		result *note
		opts   []Option
		stored string // as the row holds it; empty where that is the codec's affair
	}{
		{name: "as the format writes it", result: &note{"abc"}, stored: "cba"},
		{name: "empty", result: &note{}, stored: "\x00"},
		{name: "nil", result: nil, stored: "\x07"},
		{name: "through the guard's codec", result: &note{"abc"}, opts: []Option{WithCodec(crossed{})}},
		{name: "empty, through the guard's codec", result: &note{}, opts: []Option{WithCodec(crossed{})}},
		{name: "nil, through the guard's codec", result: nil, opts: []Option{WithCodec(crossed{})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := newFake(t)
			g := db.guard(c.opts...)
			h := NewHandler(g, noteSpec(0), func(context.Context, fakeTx, string) (*note, error) { return c.result, nil })
			l := NewLease(g, noteSpec(time.Minute), func(context.Context, string) (*note, error) { return c.result, nil })
			for key, do := range map[string]func(context.Context, string) (*note, error){"tx": h.Do, "lease": l.Do} {
				for range 2 {
					got, err := do(t.Context(), key)
					if err != nil || (got == nil) != (c.result == nil) || got != nil && got.text != c.result.text {
						t.Fatalf("%s: got %v and %v, want %v", key, got, err, c.result)
					}
				}
				row, _ := db.row("notes", key)
				if c.stored != "" && string(row.Result) != c.stored {
					t.Errorf("%s: the row has %q, want %q", key, row.Result, c.stored)
				}
				if c.stored == "" && (len(row.Result) == 0 || c.result != nil && strings.Contains(string(row.Result), "cba")) {
					t.Errorf("%s: the row has %q, which the guard's codec has not written", key, row.Result)
				}
			}
		})
	}
}

func TestMessageResultsThatDoNotDecode(t *testing.T) {
	t.Parallel()
	db := newFake(t)
	text := "nrot"
	h := NewHandler(db.guard(), noteSpec(0), func(context.Context, fakeTx, string) (*note, error) { return &note{text}, nil })
	if _, err := h.Do(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	var torn *ResultError
	if _, err := h.Do(t.Context(), "k"); !errors.As(err, &torn) {
		t.Fatalf("got %v, want a *ResultError", err)
	}
	text = "unwritable"
	if _, err := h.Do(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "does not encode") {
		t.Fatalf("got %v, want that the result does not encode", err)
	}
	if _, there := db.row("notes", "other"); there {
		t.Error("a run whose result does not encode left its key")
	}
}

// What generated code cannot do by mistake, and a hand could.
func TestMessageCodecOfOtherTypes(t *testing.T) {
	t.Parallel()
	if _, err := noteCodec.Encode("text"); err == nil {
		t.Error("a string was encoded as a note")
	}
	if err := noteCodec.Decode(nil, new(string)); err == nil {
		t.Error("a note was decoded into a string")
	}
	foreign := MessageCodec[string](writeNote, readNote)
	if _, err := foreign.Encode(new(string)); err == nil {
		t.Error("a *string was taken for a message")
	}
	var p *string
	if err := foreign.Decode(nil, &p); err == nil {
		t.Error("a *string was taken for a message")
	}
}
