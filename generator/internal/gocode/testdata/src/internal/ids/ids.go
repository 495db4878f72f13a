// Package ids has types that only an alias makes visible to others.
package ids

import "errors"

type OrderID string

type Envelope[T any] struct {
	ID   OrderID
	Body T
}

// Token marshals by its address.
type Token struct{ text string }

func (t *Token) MarshalText() ([]byte, error) {
	if t == nil {
		return nil, errors.New("no token")
	}
	return []byte(t.text), nil
}
