package sqltx

import (
	"context"
	"time"
)

// Update sets the savepoint and runs the UPDATE of a transition in it, where it waits like a claim. Together with Look it makes a
// driver.TransitionSession of a Joined.
func (s *Joined[DB]) Update(ctx context.Context, wait time.Duration, update func(context.Context, DB) (int64, error)) (int64, error) {
	if err := s.Begin(ctx); err != nil {
		return 0, err
	}
	s.until = time.Now().Add(wait)
	return s.Move(ctx, wait, update)
}

// Look goes back to the savepoint and runs a SELECT behind it, which waits no longer than the UPDATE could have.
func (s *Joined[DB]) Look(ctx context.Context, look func(context.Context, DB) error) error {
	if err := s.back(ctx); err != nil {
		return err
	}
	return s.Read(ctx, max(time.Until(s.until), 0), look)
}

// Move runs an UPDATE. Together with Read it makes a driver.Mover of a Joined.
func (s *Joined[DB]) Move(ctx context.Context, wait time.Duration, update func(context.Context, DB) (int64, error)) (int64, error) {
	return s.Engine.Update(ctx, s.Handle, Waiting{wait, func(ctx context.Context) (int64, error) {
		return update(ctx, s.On(s.Handle))
	}})
}

// Read runs a SELECT past the caller's snapshot.
func (s *Joined[DB]) Read(ctx context.Context, wait time.Duration, look func(context.Context, DB) error) error {
	return s.Engine.Read(ctx, s.Handle, Waiting{wait, func(ctx context.Context) (int64, error) {
		return 0, look(ctx, s.Newest(s.Handle))
	}})
}
