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
	return s.Engine.Update(ctx, s.Handle, Waiting{wait, func(ctx context.Context) (int64, error) {
		return update(ctx, s.On(s.Handle))
	}})
}

// Look goes back to the savepoint and runs a SELECT behind it.
func (s *Joined[DB]) Look(ctx context.Context, look func(context.Context, DB) error) error {
	if err := s.back(ctx); err != nil {
		return err
	}
	return look(ctx, s.Newest(s.Handle))
}
