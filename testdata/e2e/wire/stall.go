package wire

// stall is a network that has gone without a word.
type stall struct {
	over chan struct{} // closed when it is there again; nil while it is
	held int           // messages that wait for that
}

// Stall has no message of any connection arrive any more, until Resume: what was sent meanwhile arrives then, also from a client
// that has gone since. Connections can be made, and hear nothing.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stall.over == nil && !p.closed {
		p.stall.over = make(chan struct{})
	}
}

// Resume ends what Stall began.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stall.over != nil {
		close(p.stall.over)
		p.stall = stall{}
	}
}

// Stalled is how many connections have sent something that waits for Resume.
func (p *Proxy) Stalled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stall.held
}

// await returns when messages may pass.
func (p *Proxy) await() {
	p.mu.Lock()
	over := p.stall.over
	if over != nil {
		p.stall.held++
	}
	p.mu.Unlock()
	if over != nil {
		<-over
	}
}
