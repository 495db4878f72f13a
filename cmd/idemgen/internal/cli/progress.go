package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// patience is how long a run stays silent on a terminal.
const patience = time.Second

// progress shows the stage of a slow run on one terminal line that is gone at the end. A nil progress shows nothing.
type progress struct {
	w     io.Writer
	timer *time.Timer

	mu    sync.Mutex
	stage string
	shown bool
	ended bool
}

// newProgress returns the progress for stderr: nil unless that is a terminal.
func newProgress(stderr io.Writer) *progress {
	f, ok := stderr.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return startProgress(stderr, patience)
}

func startProgress(w io.Writer, after time.Duration) *progress {
	p := &progress{w: w}
	p.timer = time.AfterFunc(after, p.appear)
	return p
}

// report notes that a stage has begun.
func (p *progress) report(stage string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage = stage
	if p.shown {
		p.draw()
	}
}

func (p *progress) appear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.shown = true
	p.draw()
}

// draw replaces the line. A terminal that refuses it is no reason to stop generating.
func (p *progress) draw() { _, _ = fmt.Fprintf(p.w, "\r\x1b[Kidemgen: %s…", p.stage) }

// end takes the line away. Nothing is shown after it.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
}
