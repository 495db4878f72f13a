package gocode

import (
	"fmt"
	"testing"
)

// BenchmarkPackage renders a package with ten handlers.
func BenchmarkPackage(b *testing.B) {
	p := cases["orders"](b)
	first := p.Groups[0].Handlers
	p.Groups[0].Handlers = nil
	for i := range 10 {
		h := *first[i%len(first)]
		h.Method = fmt.Sprintf("%s%d", h.Method, i)
		if h.Args != "" {
			h.Args = h.Method + "Args"
		}
		p.Groups[0].Handlers = append(p.Groups[0].Handlers, &h)
	}
	for b.Loop() {
		if _, err := Package(p); err != nil {
			b.Fatal(err)
		}
	}
}
